# shellcheck shell=bash
# A method without clusters is trained, resumed and evaluated; what needs clusters says so.
small="--method simclr --recipe cifar-small --stem cifar --width 0.0625 --dim 16 --size 16
       --batch 20 --optimizer sgd --epochs 3 --warmup 1 --monitor 2 --threads 1 -q"
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small -o run || exit 1
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small -o run || exit 1
coke eval knn run synthetic:n=60,size=16 -q > knn.txt || exit 1
coke info run > info.txt || exit 1
coke assign run synthetic:n=20,size=16 -q -o a.csv
coke report run -o r.html -q || exit 1
grep -q "k-NN" r.html || exit 1
coke report run -o t.html --table t.csv -q
coke train synthetic:n=100,size=16 --method simclr -k 10 -q -o other
