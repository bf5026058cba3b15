# shellcheck shell=bash
# Files of one stream have the same number of columns.
py <<'P'
save("a.npy")
save("b.npy", dim=9)
P
coke cluster a.npy b.npy -k 6 -o out -q
