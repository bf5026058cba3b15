# shellcheck shell=bash
# A shape whose bytes overflow 64 bits.
py <<'P'
save()
lie("x.npy", "y.npy", b"(600, 8)", b"(4611686018427387904, 16)")
P
mv y.npy x.npy
timeout 1 coke cluster x.npy -k 6 -o out -q
