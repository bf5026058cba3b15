# shellcheck shell=bash
# A zero vector has no cosine.
py <<'P'
x = vectors()
x[599] = 0
np.save("x.npy", x)
P
coke cluster x.npy -k 6 -o out -q
