# shellcheck shell=bash
# A name that would ring the bell or clear the screen is shown harmlessly.
coke cluster $'a\033[2J\a.npy' -k 6 -o out -q
