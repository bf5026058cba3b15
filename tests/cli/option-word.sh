# shellcheck shell=bash
# A word that is not offered.
coke cluster x.npy -k 6 --init=random -o out
