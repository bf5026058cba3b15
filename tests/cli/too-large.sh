# shellcheck shell=bash
# The first bad row is named, whatever order rows are read in, and numbers beyond f32 by value.
py <<'P'
x = vectors().astype("f8")
x[500, 1] = np.inf
x[301, 2] = 1e200
x[400, 3] = np.nan
np.save("x.npy", x)
np.save("y.npy", np.asfortranarray(x))
P
coke cluster x.npy -k 6 -o out -q
coke cluster y.npy -k 6 -o out -q
