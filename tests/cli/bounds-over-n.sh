# shellcheck shell=bash
# Bounds that no assignment meets.
py <<'P'
save()
P
yes 101 | head -n 6 > sizes.txt
coke cluster x.npy -k 6 --min-sizes sizes.txt -o out -q
