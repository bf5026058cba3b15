# shellcheck shell=bash
# A letter that means nothing.
coke cluster x.npy -k 6 -z -o out
