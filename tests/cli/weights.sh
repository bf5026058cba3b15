# shellcheck shell=bash
# Equal weights change nothing; rows of next to no weight hardly count, but are labelled.
py <<'P'
x = save()
np.savetxt("same.txt", np.full(600, 3.5))
w = np.ones(600)
x[300:] = -x[0]
w[300:] = 1e-3
np.save("y.npy", x)
np.save("w.npy", w)
P
coke cluster x.npy -k 6 -o plain -q >/dev/null || exit 1
coke cluster x.npy -k 6 --weights same.txt -o same -q >/dev/null || exit 1
cmp plain/labels.npy same/labels.npy || exit 1
coke cluster y.npy -k 6 --ratio 0 --weights w.npy -o out -q >/dev/null || exit 1
py <<'P'
label = np.load("out/labels.npy")
assert label.min() >= 0 and len(label) == 600
x = load_rows("y.npy")
assert nearest(x, "out/centers.npy", label)
s = json.load(open("out/summary.json"))["heads"][0]
score = (x @ np.load("out/centers.npy").T).max(1)
assert abs(s["objective"] - score[:300].mean()) < 2e-3, s
P
