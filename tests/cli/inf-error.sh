# shellcheck shell=bash
# Infinity in the second file is named with that file's row.
py <<'P'
save("a.npy")
x = vectors()
x[5, 0] = -np.inf
np.save("b.npy", x)
P
coke cluster a.npy b.npy -k 6 -o out -q
