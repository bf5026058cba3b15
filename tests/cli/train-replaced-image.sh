# shellcheck shell=bash
# An image that was replaced under its old name is noticed when a training is resumed.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 8 --recipe cifar-single --size 16
       --batch 10 -k 4 --epochs 2 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 -q"
py <<'P'
import os
os.mkdir("photos")
rng = np.random.default_rng(1)
for i in range(30):
    with open("photos/%02d.ppm" % i, "wb") as f:
        f.write(b"P6 16 16 255\n" + rng.integers(0, 256, 768, "u1").tobytes())
np.save("array.npy", rng.integers(0, 256, (3000, 16, 16, 3), "u1"))
P
# shellcheck disable=SC2086
coke train photos $small -o run >/dev/null || exit 1
# shellcheck disable=SC2086
coke train photos $small -o run >/dev/null || exit 1
touch -r photos/17.ppm time && cp photos/17.ppm old.ppm
printf xyz | dd of=photos/17.ppm bs=1 seek=200 conv=notrunc 2>/dev/null && touch -r time photos/17.ppm
# shellcheck disable=SC2086
coke train photos $small -o run >/dev/null
[ $? = 2 ] || { echo 'not noticed'; exit 1; }
# shellcheck disable=SC2086
coke train photos $small -o run --resume-anyway >/dev/null 2>err || { cat err; exit 1; }
cp old.ppm photos/17.ppm
# Of many images, samples: another file of the same shape is noticed.
# shellcheck disable=SC2086
coke train array.npy $small --batch 500 -o many >/dev/null || exit 1
py <<'P'
np.save("array.npy", np.load("array.npy")[::-1])
P
# shellcheck disable=SC2086
coke train array.npy $small --batch 500 -o many >/dev/null
[ $? = 2 ] || { echo 'not noticed'; exit 1; }
