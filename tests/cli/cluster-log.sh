# shellcheck shell=bash
# No terminal: one line an epoch instead of a bar.
py <<'P'
save()
P
coke cluster x.npy -k 6 --epochs 2 -o out
