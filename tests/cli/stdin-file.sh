# shellcheck shell=bash
# A file as standard input is not copied.
py <<'P'
save()
P
TMPDIR=/nowhere coke cluster - -k 6 -o out -q <x.npy >/dev/null
