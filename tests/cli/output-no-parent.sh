# shellcheck shell=bash
# The folder above is missing; said before any work.
coke cluster x.npy -k 6 -o nowhere/out -q
