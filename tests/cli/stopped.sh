# shellcheck shell=bash
# A signal ends the work cleanly.
py <<'P'
save()
P
: >log
coke cluster x.npy -k 6 --epochs 100000 -o out 2>log &
until grep -q '^epoch 2/' log; do sleep 0.05; done
kill -TERM $!
wait $!
code=$?
tail -n 1 log >&2
exit $code
