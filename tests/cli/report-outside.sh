# shellcheck shell=bash
# The list of a run that others made may name files of whoever reads it, or links may lead to
# them: their pictures are shown only if the reader names the list.
mkdir data private
py << 'END'
for i in range(12):
    with open(("private/%d.ppm" if i < 2 else "data/%d.ppm") % i, "wb") as f:
        f.write(b"P6 8 8 255\n" + bytes([20 * i]) * 192)
END
ln -s ../private/1.ppm data/1.ppm
{
    echo ../private/0.ppm
    printf '%d.ppm\n' {1..11}
} > data/list.txt
coke train data/list.txt -o run --k 2 --size 8 --batch 6 --epochs 3 --width 0.03125 --dim 8 \
    --recipe cifar --stem cifar -q >/dev/null 2>&1 || exit 1
coke report run -o kept.html || exit 1
coke report run --images data/list.txt -o shown.html || exit 1
! cmp -s kept.html shown.html
