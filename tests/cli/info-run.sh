# shellcheck shell=bash
# What a run folder tells of its training.
coke train synthetic:n=60,size=16 --arch resnet18 --stem cifar --width 0.0625 --dim 16 \
    --recipe cifar-single --size 16 --batch 20 -k 4,10 --epochs 3 --warmup 1 --optimizer sgd \
    --rate 0.01 --threads 1 --monitor 1 -o run -q >/dev/null 2>&1 || exit 1
coke info run || exit 1
coke info run --json > info.json || exit 1
py <<'P'
import json
x = json.load(open("info.json"))
assert x["format"] == "run" and x["epoch"] == x["epochs"] == 3 and x["complete"] is True
assert x["heads"] == [4, 10] and x["encoder"]["arch"] == "resnet18" and x["images"] == 60
assert x["metrics"]["epoch"] == 2 and x["metrics"]["loss"] > 0 and "knn20" in x["metrics"]
assert x["options"]["batch"] == "20" and "seed" not in x["options"]
P
rm run/last.safetensors
coke info run
