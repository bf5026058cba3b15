# shellcheck shell=bash
# A headerless file that is not a whole number of rows.
head -c 1001 /dev/zero >x.dat
coke cluster x.dat --raw f16:100 -k 6 -o out -q
