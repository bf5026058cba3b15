# shellcheck shell=bash
# The second trial cannot begin: the first one is printed, in JSON that is complete.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 -k 4,10 --ratio 0.9 --epochs 3 --warmup 1 --optimizer sgd --rate 0.01 --threads 1 -q"
mkdir runs && touch runs/trial-1
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --trials 3 --json -o runs > a.json && exit 1
py <<'P'
a = json.load(open("a.json"))
assert list(a) == ["trials"] and len(a["trials"]) == 1, a
P
