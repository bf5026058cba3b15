# shellcheck shell=bash
# More data than the header says: nobody knows what they are.
py <<'P'
save()
lie("x.npy", "y.npy", b"(600, 8)", b"(100, 8)")
P
mv y.npy x.npy
coke cluster x.npy -k 6 -o out -q
