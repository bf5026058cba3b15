# shellcheck shell=bash
# --constrained keeps the model's sizes in proportion, even where the rows are quite others.
py <<'P'
save()
save("y.npy", n=1200, seed=0, groups=2)
P
coke cluster x.npy -k 6 --ratio .9 -o model -q >/dev/null || exit 1
coke assign model y.npy --constrained -o labels.npy -q --json > result.json || exit 1
coke assign model y.npy --constrained --repair exact -o exact.npy -q --json > exact.json || exit 1
coke assign model y.npy --repair exact -o none.npy -q 2>said && exit 1
grep -q -- "--repair needs --constrained" said || exit 1
coke assign model/model.safetensors x.npy --constrained -o again.npy -q >/dev/null || exit 1
py <<'P'
assert sizes("labels.npy", 6).min() >= 180, sizes("labels.npy", 6)
s = json.load(open("result.json"))
assert s["sizes"]["min"] == sizes("labels.npy", 6).min() and s["repaired"]
assert s["certificate"]["gap"] <= 1e-4 * s["certificate"]["dual"]
e = json.load(open("exact.json"))
assert sizes("exact.npy", 6).min() >= 180
assert e["certificate"]["gap"] <= 1e-6 * e["certificate"]["dual"]
assert s["certificate"]["primal"] <= e["certificate"]["dual"] * (1 + 1e-6)
assert sizes("again.npy", 6).min() >= 90
P
