# shellcheck shell=bash
# Two times '-'.
coke cluster - - -k 6 -o out -q </dev/null
