# shellcheck shell=bash
# A number out of bounds.
coke cluster x.npy -k 6 --ratio 1.5 -o out
