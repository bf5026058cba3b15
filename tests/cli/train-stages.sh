# shellcheck shell=bash
# Layers in text, Adam, a second stage on a run, and several runs on one page.
small="--recipe cifar-small --size 16 --batch 20 --epochs 3 --warmup 1 --monitor 2 --threads 1 -q"
net="--stem cifar --width 0.0625"
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small $net --method simclr --projector 24-gelu-16-bn0 \
    --optimizer adamw --weight-decay 0.04 --weight-decay-end 0.4 --clip 3 -o a || exit 1
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --method scan --from a -k 10 --near 5 -o b || exit 1
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --method selflabel --from b --threshold 0.999 \
    --recipe cifar-weak-strong -o c || exit 1
coke report a b c -o page.html || exit 1
grep -c "<figure" page.html
grep -o "24-gelu-16-bn0" page.html | head -1
coke report a b c -o page.html
coke report a b --images synthetic:n=100,size=16 -o other.html
coke report a missing -o other.html
coke train synthetic:n=100,size=16 --method selflabel -o d -q
coke train synthetic:n=100,size=16 --method selflabel --from a --recipe cifar-weak-strong -o d -q
coke train synthetic:n=100,size=16 --method simclr --projector 24-tanh-16 -o d -q
coke train synthetic:n=100,size=16 --method simclr --projector 24-relu-16 --dim 8 -o d -q
coke train synthetic:n=100,size=16 -k 10 --projector 24-relu-16 --predictor 24-bn-relu-8 -o d -q
