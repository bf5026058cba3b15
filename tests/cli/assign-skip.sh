# shellcheck shell=bash
# --bad skip: label -1 and no score.
py <<'P'
x = save()
x[7] = np.nan
np.save("y.npy", x)
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 1
coke assign model y.npy --bad skip -o labels.npy --scores scores.npy -q || exit 1
py <<'P'
label, score = np.load("labels.npy"), np.load("scores.npy")
assert np.flatnonzero(label < 0).tolist() == [7]
assert np.flatnonzero(np.isnan(score[:, 0])).tolist() == [7]
P
