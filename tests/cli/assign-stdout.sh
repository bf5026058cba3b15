# shellcheck shell=bash
# Labels on standard output are the file's bytes; the table gives way to them.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 1
coke assign model x.npy -o labels.npy -q >/dev/null || exit 1
coke assign model - -o /dev/stdout -q <x.npy 2>table | cmp - labels.npy && grep -q objective table
