# shellcheck shell=bash
# The pipe ends early.
py <<'P'
save()
P
head -c 10128 x.npy | coke cluster - -k 6 -o out -q
