# shellcheck shell=bash
# Two levels: sizes are kept, the same bytes for any number of threads, `coke assign` takes the
# model, and the table says what the certificate covers.
py <<'P'
save(n=3000)
P
coke cluster x.npy -k 100 --levels 2 --ratio 1 -o a -q --threads 1 >said || exit 1
grep -q 'nearest 8 of 28 groups' said || exit 1
coke cluster x.npy -k 100 --levels 2 --ratio 1 -o b -q --threads 3 >/dev/null || exit 1
for f in labels.npy centers.npy model.safetensors; do cmp a/$f b/$f || exit 1; done
coke cluster x.npy -k 60,100 --levels 2 -o c -q >/dev/null || exit 1
coke assign a/model.safetensors x.npy -o again.npy -q >/dev/null || exit 1
py <<'P'
assert sizes("a/labels.npy", 100).min() == sizes("a/labels.npy", 100).max() == 30
for h, k in enumerate([60, 100]):
    assert sizes("c/labels-h%d-k%d.npy" % (h, k), k).min() >= int(0.4 * 3000 / k)
assert len(np.load("again.npy")) == 3000
P
for t in 1 3; do
    coke cluster x.npy -k 100 --levels 2 --metric euclidean --max-ratio 1.2 -o g$t -q --threads $t \
        >/dev/null || exit 1
done
for f in labels.npy centers.npy model.safetensors; do cmp g1/$f g3/$f || exit 1; done
py <<'P'
assert sizes("g1/labels.npy", 100).min() >= 12 and sizes("g1/labels.npy", 100).max() <= 36
P
coke cluster x.npy --init a/model.safetensors --levels 2 -o d -q 2>said && exit 1
grep -q 'levels=2 numbers clusters by group' said || exit 1
cat x.npy | coke cluster - -k 10 --levels 2 --epochs 1 --no-repair -o e -q 2>said && exit 1
grep -q 'levels=2 reads the rows several times' said || exit 1
coke cluster x.npy -k 100 --levels 2 --probes 3 -o h -q >said || exit 1
grep -q 'nearest 3 of 17 groups' said || exit 1
coke cluster x.npy -k 10 --levels 2 --probes 9 -o i -q 2>said
[ $? = 2 ] || exit 1
coke cluster x.npy -k 10 --levels 3 -o f -q 2>said
[ $? = 2 ] || exit 1
