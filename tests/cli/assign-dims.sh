# shellcheck shell=bash
# The model's columns are not those of the rows.
py <<'P'
save()
save("y.npy", dim=9)
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 99
coke assign model y.npy -o out -q
