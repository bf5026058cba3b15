# shellcheck shell=bash
# A weight below zero.
py <<'P'
save()
P
{ echo 1; echo -2; yes 1 | head -n 598; } > w.txt
coke cluster x.npy -k 6 --weights w.txt -o out -q
