# shellcheck shell=bash
# Columns first.
py <<'P'
np.save("x.npy", np.asfortranarray(vectors()))
P
coke cluster x.npy -k 6 -o out -q
