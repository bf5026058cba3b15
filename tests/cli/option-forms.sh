# shellcheck shell=bash
# --name=value, -k6, the end of options, and flags both ways.
py <<'P'
save()
P
mv x.npy ./--x.npy
coke cluster -k6 --ratio=.5 --repair exact --no-repair --repair=on -q -o a -- --x.npy >/dev/null || exit 1
coke cluster -k 6 --ratio .5 -q -o b ./--x.npy >/dev/null || exit 1
cmp a/labels.npy b/labels.npy
