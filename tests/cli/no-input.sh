# shellcheck shell=bash
# No file.
coke cluster -k 6 -o out
