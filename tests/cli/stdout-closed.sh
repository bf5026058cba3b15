# shellcheck shell=bash
# No standard output at all; nothing else takes its descriptor.
py <<'P'
save()
P
coke cluster x.npy -k 6 -q >&-
