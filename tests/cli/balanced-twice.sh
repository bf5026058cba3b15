# shellcheck shell=bash
py <<'P'
save()
P
coke cluster x.npy -k 6 --balanced --max-ratio 2 -o out
