# shellcheck shell=bash
# --quiet leaves stderr empty.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o out --quiet >/dev/null
