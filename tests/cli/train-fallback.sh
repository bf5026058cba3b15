# shellcheck shell=bash
# A damaged last checkpoint: the newest whole one is used, and the run ends with the same bytes.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 8 --recipe cifar-single --size 16
       --batch 20 -k 4 --epochs 3 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 --save-steps 1"
train() {
    # shellcheck disable=SC2086
    coke train synthetic:n=40,size=16 $small -o run "$@"
}
damage() {
    printf X | dd of="$1" bs=1 seek="$(($(stat -c %s "$1") / 2))" conv=notrunc 2>/dev/null
}
train -q >/dev/null || exit 1
[ "$(find run/last.safetensors run/checkpoint-* -printf '%i\n' | sort -u | wc -l)" = 2 ] ||
    { echo 'not two files'; exit 1; }
mkdir first && cp run/final.safetensors run/metrics.jsonl run/labels* first
rm run/final.safetensors
# In place: the checkpoint of the same inode is damaged, too.
damage run/last.safetensors
# shellcheck disable=SC2012
ls run/checkpoint-* | tail -n 1
resume_to_the_same() {
    train >/dev/null 2>err || { cat err; exit 1; }
    grep 'whole' err
    for f in final.safetensors metrics.jsonl labels-h0-k4.npy; do
        cmp run/$f first/$f || exit 1
    done
}
resume_to_the_same
# The best epoch, where it is all that is left, as with --keep 1.
rm run/final.safetensors run/best.safetensors
mv run/checkpoint-000002-00000002.safetensors run/best.safetensors
damage run/last.safetensors
ls run/checkpoint-*
resume_to_the_same
# The same at the end of the training, where nothing is written any more: last is whole again.
cp run/last.safetensors best && mv best run/best.safetensors
for f in run/checkpoint-*; do damage "$f"; done
train -q >/dev/null 2>&1 && cmp run/last.safetensors run/best.safetensors || exit 1
# Nothing whole is left: an error that keeps everything.
rm run/final.safetensors
for f in run/checkpoint-* run/last.safetensors run/best.safetensors; do damage "$f"; printf x >> "$f"; done
find run -type f -newer first -exec cksum {} + | sort > before
train -q >/dev/null 2>err
[ $? = 3 ] || { echo 'not refused'; exit 1; }
cat err
find run -type f -newer first -exec cksum {} + | sort | cmp - before || exit 1
grep -q force err && exit 1
# Half a line at the end of timing.jsonl.
rm -r run && train -q >/dev/null || exit 1
printf '{"epoch": 2, "sec' >> run/timing.jsonl
train -q > /dev/null || exit 1
tail -n 1 run/timing.jsonl | grep -o '"epoch": [0-9]*'
# Earlier versions went on in the same line: a report warns, and is written.
rm run/checksums.xxh3
printf '{"epoch": 2, "sec{"epoch": 3}\n' >> run/timing.jsonl
coke report run -q -o page.html >/dev/null 2>err || { cat err; exit 1; }
grep timing err
