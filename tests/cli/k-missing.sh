# shellcheck shell=bash
# No k.
py <<'P'
save()
P
coke cluster x.npy -o out
