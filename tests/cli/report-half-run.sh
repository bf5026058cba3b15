# shellcheck shell=bash
# Runs that are not whole: a page where there is something to show, a sentence where there is not.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 -k 4,10 --epochs 3 --warmup 1 --optimizer sgd --rate 0.01 --threads 1"
mkdir photos
py <<'P'
for c in ("a", "b"):
    for i in range(30):
        photo("photos/%s/%d.png" % (c, i), 16, 16, seed=i)
P
# shellcheck disable=SC2086
coke train photos $small -o run -q >/dev/null || exit 1
coke report run -o whole.html -q || exit 1
coke report run --best -o best.html -q || exit 1
# Damage in an image is told; a few are left out.
head -c 40 photos/a/3.png > short && mv short photos/a/3.png
coke report run -o bad.html -q || exit 1
# The images are gone: the rest can still be seen.
mv photos moved
coke report run -o moved.html -q || exit 1
coke report run --images moved -o found.html -q || exit 1
rm run/metrics.jsonl run/timing.jsonl run/checksums.xxh3 # as if it had been killed
coke report run --images moved -o bare.html -q || exit 1
mv run/run.json .
coke report run -o nameless.html -q || exit 1
mv run.json run
echo 'no json' > run/metrics.jsonl
coke report run -o p.html
rm run/metrics.jsonl
coke report run --vectors x.npy -o p.html
cp run/last.safetensors good
head -c 5000 good > run/last.safetensors
coke report run -o p.html
rm run/last.safetensors
coke report run -o p.html
cp run/final.safetensors run/last.safetensors
coke report run -o p.html
[ ! -e p.html ] || echo "there is a page"
exit 0
