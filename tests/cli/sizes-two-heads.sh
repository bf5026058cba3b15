# shellcheck shell=bash
# One list of sizes cannot serve two clusterings.
py <<'P'
save()
P
yes 1 | head -n 6 > sizes.txt
coke cluster x.npy -k 6,7 --min-sizes sizes.txt -o out -q
