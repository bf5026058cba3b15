# shellcheck shell=bash
# --bad skip counts the rows, labels them -1, and sizes count the others.
py <<'P'
x = vectors()
x[17, 3] = np.nan
x[18, 0] = np.inf
x[40] = 0
np.save("x.npy", x)
P
coke cluster x.npy -k 6 --bad skip -o out -q
py <<'P'
label = np.load("out/labels.npy")
assert sorted(np.flatnonzero(label < 0)) == [17, 18, 40], label
assert np.bincount(label[label >= 0], minlength=6).min() >= int(.4 * 597 / 6)
assert json.load(open("out/summary.json"))["skipped"] == 3
P
