# shellcheck shell=bash
# The header claims 32 GB; the answer comes at once, and from a pipe as well.
py <<'P'
save()
lie("x.npy", "y.npy", b"(600, 8)", b"(999999999, 8)")
P
mv y.npy x.npy
timeout 1 coke cluster x.npy -k 6 -o out -q
code=$?
timeout 1 coke cluster - -k 6 -o out -q <x.npy 2>pipe
[ $? = 3 ] || exit 98
cat x.npy | timeout 1 coke cluster - -k 6 -o out -q --epochs 1 --no-repair 2>pipe
[ "${PIPESTATUS[1]}" = 3 ] || exit 97
exit $code
