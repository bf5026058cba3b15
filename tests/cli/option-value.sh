# shellcheck shell=bash
# The value is missing.
coke cluster x.npy -k 6 --ratio
