# shellcheck shell=bash
# Labels and scores of new rows are those that numpy finds.
py <<'P'
save()
save("y.npy", n=777, seed=5)
P
coke cluster x.npy -k 12 --ratio 1 -o model -q >/dev/null || exit 1
coke assign model y.npy -o labels.npy --scores scores.npy -q || exit 1
py <<'P'
y, label, score = load_rows("y.npy"), np.load("labels.npy"), np.load("scores.npy")
assert label.dtype == np.int32 and label.shape == (777,)
assert score.dtype == np.float32 and score.shape == (777, 1)
assert nearest(y, "model/centers.npy", label)
assert np.abs(score[:, 0] - (y @ np.load("model/centers.npy").T).max(1)).max() < 1e-5
P
