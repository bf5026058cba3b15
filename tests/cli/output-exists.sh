# shellcheck shell=bash
# Seen before any work (the input does not even exist), and left as it was.
mkdir kept
echo mine > kept/centers.npy
coke cluster nowhere.npy -k 6 -o kept -q
code=$?
[ "$(cat kept/centers.npy)" = mine ] && [ "$(ls -A kept)" = centers.npy ] || exit 99
exit $code
