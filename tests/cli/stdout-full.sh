# shellcheck shell=bash
# The table is data: losing it is a failure.
py <<'P'
save()
P
coke cluster x.npy -k 6 -q >/dev/full
