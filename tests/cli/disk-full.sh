# shellcheck shell=bash
# A disk that fills up while the files are written is as empty as before.
py <<'P'
save(n=40000)
P
cat > inside <<'S'
mount -t tmpfs -o size=64k none full || exit 77
coke cluster x.npy -k 6 --ratio 0 --epochs 1 -o full/out -q
code=$?
[ -z "$(find full -type f)" ] || exit 98
exit $code
S
mkdir full
unshare -m true 2>/dev/null && exec unshare -m bash inside
unshare -rm true 2>/dev/null && exec unshare -rm bash inside
exit 77
