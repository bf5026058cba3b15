# shellcheck shell=bash
# A file that is not there.
coke cluster nowhere.npy -k 6 -o out -q
