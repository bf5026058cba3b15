# shellcheck shell=bash
# Small data ends where labels and centers belong together; large data, here --polish 1, ends with
# the means of its labels; --polish 0 ends with labels that are optimal for its centers.
py <<'P'
save(n=3000, dim=12, groups=20)
P
coke cluster x.npy -k 25 -o out -q >/dev/null || exit 1
coke cluster x.npy -k 25 --ratio 0 -o plain -q >/dev/null || exit 1
coke cluster x.npy -k 25 --ratio 0 --polish 1 --restarts 1 --epochs 1 -o one -q >/dev/null || exit 1
coke cluster x.npy -k 25 --ratio 0 --polish 0 --restarts 1 --epochs 1 -o none -q >/dev/null || exit 1
py <<'P'
x = load_rows("x.npy")

def result(out):
    head = json.load(open(out + "/summary.json"))["heads"][0]
    return np.load(out + "/labels.npy"), np.load(out + "/centers.npy"), head

def means(labels):
    sums = np.stack([x[labels == k].sum(axis=0) for k in range(25)])
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)

for out in "out", "plain", "one":
    labels, centers, head = result(out)
    assert abs(means(labels) - centers).max() < 1e-6, out
    mean = (x * centers[labels]).sum(axis=1).mean()
    assert abs(mean - head["labels_objective"]) < 1e-6, (out, mean)
for out in "out", "plain":
    labels, centers, head = result(out)
    assert head["settled"] and head["converged"], head
    assert abs((x @ centers.T).max(axis=1).mean() - head["objective"]) < 1e-6
labels, centers, head = result("out")
assert abs(head["certificate"]["primal"] / 3000 - head["labels_objective"]) < 1e-6
labels, centers, head = result("plain")
assert head["restarts"] > 1 and (labels == (x @ centers.T).argmax(axis=1)).mean() > .999
labels, centers, head = result("one")
assert head["polish"] == 1 and head["restarts"] == 1 and not head["settled"]
# the labels are optimal for the centers of the round before, here those of --polish 0
labels0, centers0, head0 = result("none")
assert (labels == labels0).all() and (labels == (x @ centers0.T).argmax(axis=1)).mean() > .999
assert head0["polish"] == 0 and head0["objective"] == head["objective"]
assert head["labels_objective"] > head0["labels_objective"]
P
