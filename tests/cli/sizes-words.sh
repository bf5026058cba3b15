# shellcheck shell=bash
# A word among the bounds.
py <<'P'
save()
P
printf '10\nten\n10\n10\n10\n10\n' > sizes.txt
coke cluster x.npy -k 6 --min-sizes sizes.txt -o out -q
