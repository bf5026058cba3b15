# shellcheck shell=bash
# A limit on the size of files is an error in a sentence, not a signal, and leaves nothing.
py <<'P'
np.save("x.npy", np.random.default_rng(1).normal(size=(200000, 2)).astype("f4"))
P
ulimit -f 100
coke cluster x.npy -k 2 --no-repair --epochs 1 -q -o out >/dev/null
code=$?
rm -rf out
exit $code
