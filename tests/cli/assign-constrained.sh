# shellcheck shell=bash
# --constrained keeps the model's sizes in proportion, even where the rows are quite others.
py <<'P'
save()
save("y.npy", n=1200, seed=0, groups=2)
P
coke cluster x.npy -k 6 --ratio .9 -o model -q >/dev/null || exit 1
coke assign model y.npy --constrained -o labels.npy -q --json > result.json || exit 1
coke assign model/model.safetensors x.npy --constrained -o again.npy -q >/dev/null || exit 1
py <<'P'
assert sizes("labels.npy", 6).min() >= 180, sizes("labels.npy", 6)
s = json.load(open("result.json"))
assert s["sizes"]["min"] == sizes("labels.npy", 6).min() and s["repaired"]
assert s["certificate"]["gap"] <= 1e-6 * s["certificate"]["dual"]
assert sizes("again.npy", 6).min() >= 90
P
