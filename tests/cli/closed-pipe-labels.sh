# shellcheck shell=bash
# The same for labels on standard output.
py <<'P'
save(n=20000)
P
coke cluster x.npy -k 6 --ratio 0 --epochs 1 -o model -q >/dev/null || exit 99
coke assign model x.npy -o /dev/stdout -q 2>err | true
code=${PIPESTATUS[0]}
cat err >&2
exit "$code"
