# shellcheck shell=bash
# Lower and upper bounds together, from a file and as a ratio.
py <<'P'
save()
P
yes 110 | head -n 6 > high.txt
coke cluster x.npy -k 6 --ratio .8 --max-sizes high.txt -o file -q >/dev/null || exit 1
coke cluster x.npy -k 6 --ratio 0 --max-ratio 1.05 -o ratio -q >/dev/null || exit 1
py <<'P'
a, b = sizes("file/labels.npy", 6), sizes("ratio/labels.npy", 6)
assert a.min() >= 80 and a.max() <= 110, a
assert b.max() <= 105, b
P
