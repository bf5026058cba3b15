# shellcheck shell=bash
# A record in the middle claims another length.
py <<'P'
save_vecs("x.fvecs", vectors())
with open("x.fvecs", "r+b") as f:
    f.seek(7 * 36)
    f.write(b"\x09")
P
coke cluster x.fvecs -k 6 -o out -q
