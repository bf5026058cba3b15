# shellcheck shell=bash
# More clusters than rows.
py <<'P'
save()
P
coke cluster x.npy -k 601 -o out -q
