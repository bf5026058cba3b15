# shellcheck shell=bash
# One bound too few.
py <<'P'
save()
P
yes 10 | head -n 5 > sizes.txt
coke cluster x.npy -k 6 --min-sizes sizes.txt -o out -q
