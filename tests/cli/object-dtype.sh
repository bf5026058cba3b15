# shellcheck shell=bash
# Pickled objects are never opened.
py <<'P'
np.save("x.npy", np.array([[1, "a"], [2, None]], dtype=object))
P
coke cluster x.npy -k 2 -o out -q
