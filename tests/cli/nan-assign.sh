# shellcheck shell=bash
# assign refuses bad rows, too, and writes neither file.
py <<'P'
save()
x = vectors()
x[3, 1] = np.nan
np.save("y.npy", x)
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 99
coke assign model y.npy -o out --scores scores.npy -q
code=$?
[ ! -e scores.npy ] || exit 98
exit $code
