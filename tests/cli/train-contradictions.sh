# shellcheck shell=bash
# Options that cannot go together are one sentence, before any work, and leave no folder.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 --warmup 1 --threads 1 -q"
try() {
    # shellcheck disable=SC2086
    coke train synthetic:n=100,size=16 $small -o run "$@" > out.txt 2>err.txt
    echo "$? $(cat err.txt)" >&2
    [ ! -s out.txt ] && [ ! -e run ] || { echo "something was done"; exit 1; }
}
try -k 5 --small-views 2
try -k 5 --epochs 3 --warmup 5
try -k 5 --ratio 1.5
try -k 5 --stage 3 --recipe cifar
try -k 5 --stage 500
try -k 5 --accumulate 30
try -k 5 --accumulate 2 --labels current
try -k 5 --projector none
try -k 5 --no-predictor --beta 0.5
try -k 5 --recipe eval
try -k 5,5000
try -k 5 --channels 2
try -k 5 --size auto --size-schedule 16,12
try -k 5 --size-schedule 16,24
try -k 5 --round 10
try -k 5 --round 40 --keep-best
try -k 5 --ema 1
try -k 5 --augment-ramp 2
# Another network, other images, a folder of something else.
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small -k 5 --ratio 1 --epochs 3 -o run >/dev/null 2>&1 || exit 1
# shellcheck disable=SC2086
for more in '--arch resnet34' '--width 0.125' '-k 6'; do
    coke train synthetic:n=100,size=16 $small -k 5 --ratio 1 --epochs 3 -o run $more 2>err.txt
    echo "$? $(cat err.txt)" >&2
done
mkdir other && echo '{}' > other/metrics.jsonl
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small -k 5 --epochs 3 -o other
