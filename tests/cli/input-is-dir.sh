# shellcheck shell=bash
# A folder is no file.
mkdir folder
coke cluster folder -k 6 -o out -q
