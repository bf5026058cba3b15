# shellcheck shell=bash
# ratio 1: all sizes the same.
py <<'P'
save()
P
coke cluster x.npy -k 60 --ratio 1 -o out -q >/dev/null || exit 1
py <<'P'
assert set(sizes(k=60)) == {10}, sizes(k=60)
P
