# shellcheck shell=bash
# Second choice, margins, sorted rows and medoids are those that numpy finds; also with sizes kept
# (then margins may be negative), with a skipped row, and for a single cluster.
set -e
py <<'P'
x = save()
save("y.npy", n=3000, seed=5)
y = np.load("y.npy")
y[7] = 0
np.save("y.npy", y)
P
coke cluster x.npy -k 12 --ratio 1 -o model -q >/dev/null
coke cluster x.npy -k 1 -o one -q >/dev/null
files="--second second.npy --margins margins.npy --sorted rows.npy --medoids medoids.npy"
for how in --no-constrained --constrained; do
    for threads in 1 2; do
        # shellcheck disable=SC2086
        coke assign model y.npy -o labels.npy --scores scores.npy $files $how --bad skip -q \
            --force --threads $threads >/dev/null
        cat labels.npy scores.npy second.npy margins.npy rows.npy rows-offsets.npy medoids.npy |
            cksum >"$threads"
    done
    cmp 1 2
    how=$how py <<'P'
y, label = np.load("y.npy").astype("f8"), np.load("labels.npy")
used = label >= 0
assert (~used).nonzero()[0].tolist() == [7]
y[used] /= np.linalg.norm(y[used], axis=1, keepdims=True)
score = y @ np.load("model/centers.npy").T.astype("f8")
own = score[np.arange(len(y)), label]
score[np.arange(len(y)), label] = -9
second, margin = np.load("second.npy"), np.load("margins.npy")[:, 0]
assert second.dtype == np.int32 and margin.dtype == np.float32
assert second[7] == -1 and np.isnan(margin[7])
best = score.max(1)
assert np.abs(score[np.arange(len(y)), second] - best)[used].max() < 1e-6
assert np.abs(margin - (own - best))[used].max() < 1e-6
constrained = os.environ["how"] == "--constrained"
assert (margin[used].min() < -1e-3) == constrained
rows, offsets = np.load("rows.npy"), np.load("rows-offsets.npy")
medoids = np.load("medoids.npy")
assert rows.dtype == offsets.dtype == medoids.dtype == np.int64
assert sorted(rows) == [i for i in range(len(y)) if i != 7]
assert offsets[0] == 0 and (np.diff(offsets) == np.bincount(label[used], minlength=12)).all()
stored = np.load("scores.npy")[:, 0]
for c in range(12):
    mine = rows[offsets[c]:offsets[c + 1]]
    assert (label[mine] == c).all()
    assert mine.tolist() == sorted(mine, key=lambda i: (-stored[i], i))
    assert medoids[c] == (mine[0] if len(mine) else -1)
P
done
# shellcheck disable=SC2086
coke assign one x.npy -o labels.npy $files -q --force >/dev/null
py <<'P'
assert (np.load("second.npy") == -1).all() and np.isnan(np.load("margins.npy")).all()
P
# Nothing is half-written: a file that cannot be written takes the others back.
rm ./*.npy.* second.npy margins.npy rows.npy rows-offsets.npy medoids.npy labels.npy 2>/dev/null || true
(
    ulimit -f 8
    ! coke assign one x.npy -o l.npy --second s.npy --sorted /dev/full -q 2>/dev/null
)
test ! -e l.npy -a ! -e s.npy
