# shellcheck shell=bash
# Nothing comes through the pipe.
coke cluster - -k 6 -o out -q </dev/null
