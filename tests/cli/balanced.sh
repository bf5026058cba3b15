# shellcheck shell=bash
# Ratio 1: all sizes the same; --balanced: rounded down or up where k does not divide n.
py <<'P'
save()
save("y.npy", n=617)
P
coke cluster x.npy -k 60 --ratio 1 -o out -q >/dev/null || exit 1
coke cluster y.npy -k 60 --balanced -o rounded -q >/dev/null || exit 1
py <<'P'
assert set(sizes(k=60)) == {10}, sizes(k=60)
assert sorted(sizes("rounded/labels.npy", k=60)) == [10] * 43 + [11] * 17
P
