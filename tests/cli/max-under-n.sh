# shellcheck shell=bash
# Upper bounds that leave rows over.
py <<'P'
save()
P
yes 99 | head -n 6 > sizes.txt
coke cluster x.npy -k 6 --ratio 0 --max-sizes sizes.txt -o out -q
