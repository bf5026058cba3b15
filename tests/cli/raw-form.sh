# shellcheck shell=bash
# What --raw takes.
py <<'P'
save("x.npy")
P
coke cluster x.npy --raw f17:8 -k 6 -o out -q
coke cluster x.npy --raw f16 -k 6 -o out -q
coke cluster x.npy --raw f16:0 -k 6 -o out -q
coke cluster x.npy --raw f16:8:-1 -k 6 -o out -q
coke cluster x.npy --raw f16:8: -k 6 -o out -q
coke cluster x.npy --raw f16:99999999999999999999 -k 6 -o out -q
