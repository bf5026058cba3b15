# shellcheck shell=bash
# A zip of arrays.
py <<'P'
np.savez("x.npz", vectors())
P
coke cluster x.npz -k 6 -o out -q
