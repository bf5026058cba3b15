# shellcheck shell=bash
# Images of a list that have moved: a page with a warning. Some of them, then all.
mkdir pictures
py << 'END'
for i in range(12):
    with open("pictures/%d.ppm" % i, "wb") as f:
        f.write(b"P6 8 8 255\n" + bytes([20 * i]) * 192)
with open("list.txt", "w") as f:
    f.write("".join("pictures/%d.ppm\n" % i for i in range(12)))
END
coke train list.txt -o run --k 2 --size 8 --batch 6 --epochs 3 --width 0.03125 --dim 8 \
    --recipe cifar --stem cifar -q >/dev/null 2>&1 || exit 1
rm pictures/3.ppm
coke report run -o some.html || exit 1
mv pictures moved
coke report run -o none.html || exit 1
coke report run --images list.txt -o named.html
[ $? = 4 ] && [ ! -e named.html ]
