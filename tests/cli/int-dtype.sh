# shellcheck shell=bash
# 32-bit integers are labels, not vectors.
py <<'P'
np.save("x.npy", np.ones((600, 8), "i4"))
P
coke cluster x.npy -k 6 -o out -q
