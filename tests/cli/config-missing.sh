# shellcheck shell=bash
# No such file.
coke cluster x.npy -k 6 --config c.json -o out
