# shellcheck shell=bash
# A bound for each cluster, from text and from .npy: the same bytes, every bound met.
py <<'P'
save()
low = np.array([250, 3, 90, 0, 120, 60])
np.savetxt("low.txt", low, fmt="%d")
np.save("low.npy", low)
P
coke cluster x.npy -k 6 --min-sizes low.txt -o a -q >/dev/null || exit 1
coke cluster x.npy -k 6 --min-sizes low.npy -o b -q >/dev/null || exit 1
cmp a/labels.npy b/labels.npy || exit 1
py <<'P'
assert np.all(sizes("a/labels.npy", 6) >= np.load("low.npy")), sizes("a/labels.npy", 6)
P
