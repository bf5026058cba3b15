# shellcheck shell=bash
# Records that do not come out even.
py <<'P'
save_vecs("x.fvecs", vectors())
os.truncate("x.fvecs", 21593)
P
coke cluster x.fvecs -k 6 -o out -q
