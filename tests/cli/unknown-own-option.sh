# shellcheck shell=bash
# The program's own options take part in the search.
coke cluster x.npy -k 6 --min-size f -o out
