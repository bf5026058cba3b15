# shellcheck shell=bash
# What cannot be: each a sentence, and nothing written.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 -k 4 --epochs 3 --warmup 1 --optimizer sgd --rate 0.01 --threads 1 --monitor 0"
# shellcheck disable=SC2086
coke train synthetic:n=20,size=16 $small -o run -q 2>/dev/null >/dev/null || exit 1
data=synthetic:n=20,size=16
mkdir empty first && cp run/last.safetensors first
mkdir half && cp run/config.json half
head -c 5000 run/last.safetensors > cut.safetensors
printf 'a\n' > kept.npy && printf 'a\n' > kept.csv
py <<'P'
np.save("vectors.npy", np.random.default_rng(1).normal(size=(50, 4)).astype("f4"))
np.save("four.npy", np.zeros((9, 16, 16, 4), "u1"))
import struct, zipfile
zipfile.ZipFile("zip.pth", "w").writestr("x/data.pkl", "x" * 99)
whole = open("run/last.safetensors", "rb").read()
length = struct.unpack("<Q", whole[:8])[0]
header = json.loads(whole[8:8 + length])
del header["__metadata__"]["xxh3-metadata"]
def change(name, key, value):
    header["__metadata__"][key], old = value, header["__metadata__"][key]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(name, "wb").write(struct.pack("<Q", len(text)) + text + whole[8 + length:])
    header["__metadata__"][key] = old
change("later.safetensors", "format", "coke-training-9")
change("head.safetensors", "head0.k", "5")
P
coke cluster vectors.npy -k 3 -o model -q >/dev/null || exit 1
coke data pack $data -o x -q >/dev/null || exit 1
bad() {
    "$@" >said 2>&1
    echo "$? $(tail -n 1 said)" >&2
}
bad coke embed run $data
bad coke embed run $data -o kept.npy
bad coke embed half $data -o out
bad coke embed cut.safetensors $data -o out
bad coke embed model $data -o out
bad coke embed model/model.safetensors $data -o out
bad coke embed later.safetensors $data -o out
bad coke assign later.safetensors $data
bad coke export later.safetensors --format pth -o out
bad coke embed head.safetensors $data -o out
bad coke embed empty $data -o out
bad coke embed first $data --best -o out
bad coke embed run four.npy -o out
bad coke embed run none -o out
bad coke embed run -o out
bad coke embed --weights run $data $data -o out
bad coke embed run/last.safetensors $data -o out --best
bad coke assign half $data
bad coke assign empty $data
bad coke assign vectors.npy $data
bad coke assign zip.pth $data
bad coke export zip.pth --format onnx -o out
bad coke embed run $data -o -
bad coke export run --format pth -o -
bad coke assign run $data -o kept.csv
bad coke assign run $data --head 1
bad coke assign run/final.safetensors $data
bad coke assign run $data --symlink out
bad coke assign run x-000000.tar --symlink out
bad coke assign run $data --copy-to run
bad coke assign run $data --copy-to out --symlink out
bad coke assign run $data --constrained
bad coke assign model vectors.npy -o out --head 0
bad coke eval cluster run/final.safetensors $data
bad coke eval cluster run
bad coke eval cluster run none $data
[ "$(wc -l < said)" = 1 ] || exit 1
bad coke assign run $data --copy-to none/out
[ "$(wc -l < said)" = 1 ] || exit 1
bad coke eval linear run x-000000.tar
bad coke eval knn run four.npy --channels 4
bad coke eval knn run $data --test vectors.npy
bad coke eval linear run $data --epochs -1
[ "$(cat kept.npy kept.csv)" = "a
a" ] || exit 1
exit 3
