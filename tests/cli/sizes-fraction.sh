# shellcheck shell=bash
# Half a row.
py <<'P'
save()
P
printf '10\n10.5\n10\n10\n10\n10\n' > sizes.txt
coke cluster x.npy -k 6 --min-sizes sizes.txt -o out -q
