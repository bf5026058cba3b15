# shellcheck shell=bash
# Warnings are in the metrics and the report, and a resumed run repeats none: the metrics have the
# same bytes. The first monitored epoch shows what k-NN has to exceed.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16 --batch 20
       -k 10 --ratio 0 --epochs 12 --warmup 1 --optimizer sgd --rate 0.2 --threads 1 --monitor 2"
# shellcheck disable=SC2086
try() { coke train synthetic:n=300,size=16 $small -o "$@" >/dev/null; }
try whole 2>log || exit 1
grep -q 'warning: epoch [0-9]*: one cluster of head 0 (k 10) holds' log || { cat log; exit 1; }
grep -q '^epoch 0: .* k-NN 0.[0-9]* (random network; pixels 0.[0-9]*)' log || { cat log; exit 1; }
try halves 2>log &
until grep -q '^epoch 9:' log; do sleep 0.05; done
kill -USR1 $!
wait $! && exit 1
try halves 2>>log || exit 1
cmp whole/metrics.jsonl halves/metrics.jsonl || exit 1
coke report whole -o page.html -q || exit 1
py <<'P'
import json
lines = [json.loads(l) for l in open("whole/metrics.jsonl")]
given = [w for l in lines for w in l.get("warnings", [])]
kinds = [w["kind"] for w in given]
assert "giant" in kinds and len(set(kinds)) == len(kinds), kinds
page = open("page.html").read()
assert all(w["text"] in page for w in given), given
first = next(l for l in lines if "heads" in l)
assert first["knn20"] == first["knn20_random"] and 0 < first["knn20_pixels"] <= 1, first
P
