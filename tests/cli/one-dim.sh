# shellcheck shell=bash
# A plain list of numbers is no list of vectors.
py <<'P'
np.save("x.npy", np.ones(100, "f4"))
P
coke cluster x.npy -k 6 -o out -q
