# shellcheck shell=bash
# Three seeds in one command, which goes on where it was; tuned convolutions are kept with the run.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 -k 4,10 --ratio 0.9 --epochs 3 --warmup 1 --optimizer sgd --rate 0.01 --threads 1 -q"
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --trials 3 --json -o runs > a.json || exit 1
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --trials 3 --json -o runs > b.json || exit 1
py <<'P'
a, b = (json.load(open(n)) for n in ("a.json", "b.json"))
losses = [t["loss"] for t in a["trials"]]
assert len(set(losses)) == 3, losses
assert abs(a["loss"]["mean"] - sum(losses) / 3) < 1e-6 and a["loss"]["n"] == 3, a
assert all(t["resumed"] for t in b["trials"])
for name in ("loss", "knn20", "acc", "nmi", "ari"):
    assert a[name] == b[name], (name, a[name], b[name])
P
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --tune -o tuned > /dev/null || exit 1
[ -s tuned/tuning.txt ] || { echo "tuning.txt is missing"; exit 1; }
