# shellcheck shell=bash
# A slip of the finger is met with the nearest name.
coke cluster x.npy -k 6 --rato .5 -o out
