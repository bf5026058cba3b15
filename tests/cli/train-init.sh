# shellcheck shell=bash
# A training starts from the weights of a run, of an encoder, or of a file of PyTorch.
small="--arch resnet18 --stem cifar --width 0.0625 --recipe cifar-single --size 16 --batch 20 -k 4
       --epochs 2 --warmup 0 --optimizer sgd --momentum 0 --weight-decay 0 --threads 1 --monitor 0"
data=synthetic:n=60,size=16
# shellcheck disable=SC2086
train() { coke train $data $small "$@"; }
train --dim 16 --rate 0.05 -o a -q >/dev/null || exit 1
coke export a -o a.pth --format pth -q >/dev/null || exit 1
# nothing is learned at this rate: what was loaded stays
train --dim 16 --rate 1e-30 --init a -o b 2>b.err >/dev/null || exit 1
grep starting b.err
train --dim 16 --rate 1e-30 --init a -o e --monitor 1 2>e.err >/dev/null || exit 1
grep -q '^epoch 0: .* k-NN 0.[0-9]* (before the training; pixels 0.[0-9]*)' e.err || exit 1
train --dim 16 --rate 1e-30 --init a/final.safetensors -o c -q >/dev/null || exit 1
train --dim 8 --rate 1e-30 --seed 5 --init a.pth -o d 2>d.err >/dev/null || exit 1
grep starting d.err
py <<'P'
import json
def read(path):
    data = open(path, "rb").read()
    n = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + n])
    return {k: np.frombuffer(data[8 + n:][v["data_offsets"][0]:v["data_offsets"][1]], "<f4")
            for k, v in head.items() if k != "__metadata__" and v["dtype"] == "F32"}
a, b, c, d = (read(x + "/final.safetensors") for x in "abcd")
weights = [k for k in a if "running" not in k]
assert all((a[k] == b[k]).all() and (a[k] == c[k]).all() for k in weights)
backbone = [k for k in weights if not k.startswith(("fc", "predictor"))]
assert len(backbone) > 50 and all((a[k] == d[k]).all() for k in backbone)
assert a["fc.6.weight"].size == 2 * d["fc.6.weight"].size
assert json.load(open("d/run.json"))["init"] == "a.pth"
P
rm a.pth
train --dim 8 --rate 1e-30 --seed 5 --init a.pth -o d -q || exit 1 # resumes: not needed any more
coke train $data --arch resnet34 --stem imagenet -k 4 --batch 20 --init a -o out 2>err
[ $? = 2 ] && cat err && [ ! -e out ] || exit 1
train --init nothing -o out
