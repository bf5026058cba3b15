# shellcheck shell=bash
# NaN is an error that names file, row and column.
py <<'P'
x = vectors()
x[17, 3] = np.nan
np.save("x.npy", x)
P
coke cluster x.npy -k 6 -o out -q
