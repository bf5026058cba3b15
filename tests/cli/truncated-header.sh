# shellcheck shell=bash
# The file ends within the header.
py <<'P'
save()
os.truncate("x.npy", 40)
P
coke cluster x.npy -k 6 -o out -q
