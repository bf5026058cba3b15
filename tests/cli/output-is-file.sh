# shellcheck shell=bash
# The folder's name belongs to a file.
py <<'P'
save()
P
echo mine > taken
coke cluster x.npy -k 6 -o taken -q
code=$?
[ "$(cat taken)" = mine ] || exit 99
exit $code
