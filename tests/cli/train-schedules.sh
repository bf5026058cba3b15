# shellcheck shell=bash
# Views that grow, rounds and averaged weights in one run; then judged by one view and by several.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar --batch 20 -k 4,10
       --epochs 5 --warmup 1 --optimizer sgd --rate 0.01 --threads 1"
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --size-schedule 8,12 --augment-ramp 0.5 --round 40 \
    --ema 0.9 -o run >/dev/null 2>err || { cat err; exit 1; }
grep -c '^epoch [0-9]*: ' err
grep '^views' err
grep '^averaged' err
coke eval knn run synthetic:n=60,size=16 --neighbours 5 --views 3 2>/dev/null || exit 1
coke eval cluster run synthetic:n=60,size=16 --views 3 2>/dev/null || exit 1
coke eval linear run synthetic:n=60,size=16 --epochs 2 --views 3 2>/dev/null || exit 1
coke eval knn run synthetic:n=60,size=16 --neighbours 5 --views 3 --json 2>/dev/null > k.json || exit 1
coke eval knn run synthetic:n=60,size=16 --neighbours 5 --json 2>/dev/null > one.json || exit 1
coke embed run synthetic:n=10,size=16 -o one.npy -q >/dev/null || exit 1
coke embed run synthetic:n=10,size=16 -o three.npy -q --views 3 >/dev/null || exit 1
py <<'P'
k, one = json.load(open("k.json")), json.load(open("one.json"))
assert k["accuracy"] == one["accuracy"] and "views" not in one, one
assert k["views"] == 3 and 0 <= k["views_accuracy"]["5"] <= 1, k
import numpy as np
a, b = np.load("one.npy"), np.load("three.npy")
assert a.shape == b.shape and np.abs(a - b).max() > 0
P
# Exports of a checkpoint have the averaged weights.
coke export run/last.safetensors -o exported.safetensors -q >/dev/null || exit 1
py <<'P'
def tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    return {n: data[slice(*t["data_offsets"])] for n, t in header.items() if n != "__metadata__"}
run, out = tensors("run/last.safetensors"), tensors("exported.safetensors")
assert all(out[n] == run["ema." + n] for n in ("conv1.weight", "bn1.running_mean")), out.keys()
assert out["conv1.weight"] != run["conv1.weight"]
P
# shellcheck disable=SC2086
coke train synthetic:n=100,size=16 $small --size 8 --embed-size 16 --monitor 1 -o large -q \
    >/dev/null 2>err || { cat err; exit 1; }
coke eval knn large synthetic:n=60,size=16 --neighbours 5 2>/dev/null | head -1
coke eval knn large synthetic:n=60,size=16 --neighbours 5 --size 8 2>/dev/null | head -1
# Random crops have the size of the training, whatever the size of whole images is.
for size in 8 16; do
    coke embed large synthetic:n=10,size=16 -o one$size.npy -q --size $size >/dev/null || exit 1
    coke embed large synthetic:n=10,size=16 -o three$size.npy -q --size $size --views 3 >/dev/null ||
        exit 1
done
py <<'P'
import numpy as np
crops = [3 * np.load(f"three{s}.npy") - np.load(f"one{s}.npy") for s in (8, 16)]
assert np.allclose(*crops, rtol=1e-4, atol=1e-5), np.abs(crops[0] - crops[1]).max()
assert not np.allclose(np.load("one8.npy"), np.load("one16.npy"), rtol=1e-2)
P
coke eval finetune run synthetic:n=60,size=16 --views 3 2>err
echo "$? $(cat err)" >&2
