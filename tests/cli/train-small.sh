# shellcheck shell=bash
# A whole small run: what is in its folder, that it is not begun again, and that it is continued.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 -k 4,10 --epochs 3 --warmup 1 --optimizer sgd --rate 0.01 --threads 1"
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small -o run 2>err || { cat err; exit 1; }
grep -q '^epoch 2: loss' err || exit 1
for f in config.json metrics.jsonl timing.jsonl last.safetensors best.safetensors \
    final.safetensors labels-h0-k4.npy labels-h1-k10.npy centers-h0-k4.npy; do
    [ -s run/$f ] || { echo "$f is missing"; exit 1; }
done
grep -qa 'head1-k10/exemplars' run/events.out.tfevents.* || { echo 'no exemplars'; exit 1; }
py <<'P'
rows = [json.loads(line) for line in open("run/metrics.jsonl")]
epochs = [r for r in rows if "heads" in r]
assert [r["epoch"] for r in epochs] == [0, 1, 2], epochs
assert all(sum(h["k"] for h in r["heads"]) == 14 for r in epochs)
P
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small -o run -q --json > again.json || exit 1
py <<'P'
again = json.load(open("again.json"))
assert again["resumed"] and again["epochs"] == 3, again
P
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --rate 0.02 -o run -q 2>err
[ $? = 2 ] || exit 1
cat err >&2
# shellcheck disable=SC2086
coke train synthetic:n=101,size=16 $small -o run -q 2>err
[ $? = 2 ] || exit 1
cat err >&2
# Begun anew, nothing of the old run is left.
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --epochs 2 --warmup 0 -o run -q --fresh --force >/dev/null || exit 1
ls run/checkpoint-*
coke info run/final.safetensors > info
head -n 1 info
