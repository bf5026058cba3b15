# shellcheck shell=bash
# A training overwrites, follows and removes nothing in its folder that it did not write itself.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 8 --recipe cifar-single --size 16
       --batch 20 -k 4 --epochs 2 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 -q"
train() {
    # shellcheck disable=SC2086
    coke train synthetic:n=40,size=16 $small "$@"
}
refused() {
    "$@" >/dev/null 2>err
    [ $? = 2 ] || { echo "not refused: $*"; cat err; exit 1; }
    cat err >&2
}
# Files of others: named, left as they are, and nothing is put beside them.
for name in config.json run.json metrics.jsonl timing.jsonl last.safetensors best.safetensors \
    final.safetensors labels-h0-k4.npy centers-h0-k4.npy checksums.xxh3; do
    mkdir dir && echo '{}' > dir/$name
    train -o dir >/dev/null 2>err
    code=$?
    [ $code = 2 ] || [ $name$code = last.safetensors3 ] || { echo "$name: $code"; exit 1; }
    cat err >&2
    [ "$(cat dir/$name)" = '{}' ] && [ "$(ls dir)" = $name ] || { echo "$name changed"; exit 1; }
    rm -r dir
done
mkdir dir && echo '{"batch": 20}' > dir/config.json
refused train --config dir/config.json -o dir
[ "$(ls -A dir)" = config.json ] || { echo "something was written"; exit 1; }
# Symbolic links: of a run that somebody else made.
echo precious > precious
for name in metrics.jsonl config.json .lock .run-files final.safetensors; do
    rm -r dir && mkdir dir && ln -s ../precious dir/$name
    refused train -o dir
    refused train -o dir --fresh --force
    [ "$(cat precious)" = precious ] && [ "$(ls -A dir)" = $name ] || { echo "$name"; exit 1; }
done
# Its own files it overwrites; those that users set aside and other event files stay.
train -o run >/dev/null || exit 1
cp run/last.safetensors run/checkpoint-best.safetensors
cp run/last.safetensors run/checkpoint-000001-00000000.safetensors.old
cp run/last.safetensors run/checkpoint-000000-00000077.safetensors
cp run/events.out.tfevents.* run/events.out.tfevents.0000000001.other
sum=$(cat run/events.out.tfevents.0000000001.other | cksum)
train -o run >/dev/null || exit 1
train -o run --epochs 3 --fresh --force --save-steps 1 >/dev/null || exit 1
[ "$(cat run/events.out.tfevents.0000000001.other | cksum)" = "$sum" ] || exit 1
ls run/checkpoint-*
echo mine > run/labels-h0-k4.npy.mine && mv run/.run-files names
grep -v labels names > run/.run-files && rm run/.run-files.xxh3
refused train -o run --epochs 3
train -o run --epochs 3 --force --json > out.json || exit 1
grep -q '"resumed": true' out.json || { cat out.json; exit 1; }
