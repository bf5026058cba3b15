# shellcheck shell=bash
# An archive of several arrays needs a name.
py <<'P'
np.savez("x.npz", train=vectors(), test=vectors())
P
coke cluster x.npz -k 6 -o out -q
