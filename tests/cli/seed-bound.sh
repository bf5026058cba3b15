# shellcheck shell=bash
# A seed beyond 2^53 is refused, although it rounds to the bound.
py <<'P'
np.save("x.npy", np.zeros((10, 2), "f4"))
P
coke cluster x.npy -k 2 --seed 9007199254740993 -o out
