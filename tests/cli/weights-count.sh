# shellcheck shell=bash
# One weight too few.
py <<'P'
save()
P
yes 1 | head -n 599 > w.txt
coke cluster x.npy -k 6 --weights w.txt -o out -q
