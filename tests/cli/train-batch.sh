# shellcheck shell=bash
# Few images: a batch is chosen, said and saved, and a resume keeps it. Little memory: parts, or a
# sentence that names the options.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --warmup 0 --epochs 3 --optimizer sgd --threads 1 --workers 1 -k 4"
# shellcheck disable=SC2086
try() { coke train synthetic:n=$1,size=16 $small "${@:2}" >/dev/null; }
try 20 -o few 2>log || exit 1
grep -q '^batch 16, chosen from images and memory: takes about .* GB$' log || { cat log; exit 1; }
grep -q '"batch": 16,' few/config.json && grep -q '"accumulate": 1,' few/config.json || exit 1
# As if it had been chosen on another machine.
try 100 --batch 20 --accumulate 2 -o a -q 2>/dev/null || exit 1
try 100 -o a 2>log || { cat log; exit 1; }
! grep -q 'images and memory' log || exit 1
try 20 --batch 30 -o b -q
# Little memory; sanitizers need terabytes of address space.
(ulimit -v 660000 && coke --version) >/dev/null 2>&1 || exit 77
large="--arch resnet18 --stem imagenet --recipe double --size 64 --warmup 0 --epochs 3 --optimizer sgd --threads 1
       --workers 1 -k 4 --no-predictor --beta 0 --prefetch 1 --save-minutes 0"
# shellcheck disable=SC2086
little() { (ulimit -v 660000 && timeout 60 coke train "synthetic:n=64,size=64" $large "$@") >/dev/null; }
little --batch 64 --accumulate 1 -q -o c
little --batch 64 --epochs 2 -o d 2>log || { cat log; exit 1; }
grep -q '^batch 64 in [24] parts (accumulate [24]), chosen' log || { cat log; exit 1; }
exit 2
