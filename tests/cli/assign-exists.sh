# shellcheck shell=bash
# assign does not overwrite, either.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 99
echo mine > labels.npy
coke assign model x.npy -o labels.npy -q
code=$?
[ "$(cat labels.npy)" = mine ] || exit 98
exit $code
