# shellcheck shell=bash
# A pattern that matches nothing.
coke cluster 'shards/*.npy' -k 6 -o out -q
