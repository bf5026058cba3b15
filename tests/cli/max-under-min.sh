# shellcheck shell=bash
# Bounds that contradict each other.
py <<'P'
save()
P
printf '1\n1\n95\n1\n1\n1\n' > low.txt
printf '600\n600\n90\n600\n600\n600\n' > high.txt
coke cluster x.npy -k 6 --min-sizes low.txt --max-sizes high.txt -o out -q
