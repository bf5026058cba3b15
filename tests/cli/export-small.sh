# shellcheck shell=bash
# A run in every format, and back; nothing is overwritten.
coke train synthetic:n=60,size=16 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single \
    --size 16 --batch 20 -k 4 --epochs 2 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 -q \
    -o run >/dev/null || exit 1
for format in safetensors pth onnx; do
    coke export run --format $format --part all >/dev/null || exit 1
    [ -s encoder.$format ] || exit 1
done
coke export run --format pth --best --part all -o best.pth >/dev/null || exit 1
coke export run --format pth 2>err
[ $? = 2 ] || exit 1
cat err >&2
coke export run --format detectron2 2>err
[ $? = 2 ] || exit 1
cat err >&2
coke import encoder.pth -o back.safetensors --json >back.json || exit 1
coke import encoder.pth -o bare.safetensors --part backbone || exit 1
py <<'P'
told = json.load(open("back.json"))
assert told["encoder"]["arch"] == "resnet18" and told["encoder"]["dim"] == "16", told
assert told["encoder"]["width"] == "0.0625" and told["tensors"] == 150, told
P
coke export back.safetensors --part all -o again.pth >/dev/null || exit 1
cmp again.pth encoder.pth
