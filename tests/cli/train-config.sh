# shellcheck shell=bash
# The command line wins over the environment, that over the file, that over the preset.
coke train --preset cifar10 --print-config > a.json || exit 1
echo '{"batch": 64, "epochs": 50, "rate": 0.3}' > c.json
COKE_EPOCHS=60 COKE_RATE=0.4 coke train --preset cifar10 --config c.json --rate 0.5 \
    --print-config > b.json || exit 1
coke train --config b.json --print-config | cmp - b.json || exit 1
py <<'P'
a, b = (json.load(open(n)) for n in ("a.json", "b.json"))
assert (a["batch"], a["epochs"], a["rate"], a["ratio"]) == (128, 401, 0.2, 0.9), a
assert (b["batch"], b["epochs"], b["rate"], b["ratio"]) == (64, 60, 0.5, 0.9), b
P
COKE_BATCH=many coke train synthetic: -k 10 -o out
