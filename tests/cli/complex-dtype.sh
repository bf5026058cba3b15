# shellcheck shell=bash
# Numbers, but none that have an order.
py <<'P'
np.save("x.npy", vectors().astype("c8"))
P
coke cluster x.npy -k 6 -o out -q
