# shellcheck shell=bash
# No byte at all.
: > x.npy
coke cluster x.npy -k 6 -o out -q
