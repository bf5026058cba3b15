# shellcheck shell=bash
# Transparent pixels show a background, and an encoder keeps the one of its training.
py <<'P'
from PIL import Image
rng = np.random.default_rng(0)
pathlib.Path("icons").mkdir()
for i in range(24):
    a = rng.integers(0, 256, (16, 16, 4), dtype=np.uint8)
    a[4:12, 4:12, 3] = 255
    a[0:4, :, 3] = 0
    Image.fromarray(a).save("icons/%02d.png" % i)
P
coke data info icons | grep -E 'transparent' || exit 1
coke data info icons --background 10,20,30 | grep transparent || exit 1
coke data info icons --background none --json | grep -E '"transparent"|"background"' || exit 1
coke data info icons --background 10,20 && exit 1
coke data pack icons -o p --format ppm --background 10,20,30 -q >/dev/null || exit 1
coke data pack icons -o kept --format png -q >/dev/null || exit 1
py <<'P'
import io, tarfile
from PIL import Image
shard, kept = tarfile.open("p-000000.tar"), tarfile.open("kept-000000.tar")
for i in range(24):
    source = Image.open("icons/%02d.png" % i)
    want = Image.alpha_composite(Image.new("RGBA", (16, 16), (10, 20, 30, 255)), source)
    got = Image.open(io.BytesIO(shard.extractfile("%02d.ppm" % i).read()))
    assert (np.asarray(got) == np.asarray(want.convert("RGB"))).all()
    assert kept.extractfile("%02d.png" % i).read() == open("icons/%02d.png" % i, "rb").read()
P
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 12 -k 3 --epochs 2 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 --monitor 0"
# shellcheck disable=SC2086
coke train icons $small --background black -o run -q >/dev/null || exit 1
for w in auto black white; do
    coke embed run icons --background $w -o $w.npy -q --threads 1 >/dev/null || exit 1
    coke embed run/final.safetensors icons --background $w -o f-$w.npy -q --threads 1 >/dev/null
    cmp $w.npy f-$w.npy || exit 1
done
cmp auto.npy black.npy || exit 1
cmp -s auto.npy white.npy && exit 1
grep -q '"background": "black"' run/config.json
