# shellcheck shell=bash
# Bytes the other way round.
py <<'P'
np.save("x.npy", vectors().astype(">f4"))
P
coke cluster x.npy -k 6 -o out -q
