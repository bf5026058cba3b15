# shellcheck shell=bash
py <<'P'
save()
P
coke cluster x.npy -k 6 --balanced -q -o default > /dev/null
coke cluster x.npy -k 6 --balanced --ratio 1 -q -o one > /dev/null
cmp default/labels.npy one/labels.npy
coke cluster x.npy -k 6 --balanced --ratio .5 -o out
