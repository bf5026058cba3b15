# shellcheck shell=bash
# Self-labelling continues the head that --from-head names, and no other.
small="--recipe cifar-small --size 16 --batch 20 --epochs 3 --warmup 1 --monitor 0 --threads 1 -q"
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --stem cifar --width 0.0625 -k 10,7 -o run > /dev/null || exit 1
for head in 0 1; do
    # shellcheck disable=SC2086
    coke train synthetic:n=100,size=16 $small --method selflabel --from run --from-head $head \
        --threshold 0 --recipe cifar-weak-strong -o "head$head" > /dev/null || exit 1
    coke info "head$head" | grep "heads"
done
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --method selflabel --from run --from-head 2 \
    --recipe cifar-weak-strong -o none && exit 1
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --method selflabel --from run --from-head 1 -k 10 \
    --recipe cifar-weak-strong -o none && exit 1
[ ! -e none ]
