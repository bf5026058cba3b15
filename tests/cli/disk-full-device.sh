# shellcheck shell=bash
# Labels that cannot be written take the scores with them.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 99
coke assign model x.npy -o /dev/full --scores scores.npy -q
code=$?
[ ! -e scores.npy ] && [ -c /dev/full ] || exit 98
exit $code
