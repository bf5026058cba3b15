# shellcheck shell=bash
# Without -o there is only the table, and it says so.
py <<'P'
save()
P
coke cluster x.npy -k 6 >/dev/null || exit 1
[ "$(ls)" = x.npy ]
