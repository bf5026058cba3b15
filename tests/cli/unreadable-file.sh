# shellcheck shell=bash
# A file that this user may not read. Root may read all, so another user is taken.
py <<'P'
save()
P
chmod 000 x.npy
[ "$(id -u)" = 0 ] || exec coke cluster x.npy -k 6 -q
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
nobody coke --version >/dev/null 2>&1 || exit 77
nobody coke cluster x.npy -k 6 -q
