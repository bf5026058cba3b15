# shellcheck shell=bash
# Centers from a sample, labels and sizes for all rows; the same bytes for any number of threads.
py <<'P'
x = save(n=3000)
x[17] = 0
np.save("bad.npy", x)
np.savetxt("low.txt", [900, 100, 100, 100, 100, 100], fmt="%d")
np.savetxt("w.txt", np.linspace(0.5, 2, 3000))
P
coke cluster x.npy -k 6 --fit-rows 400 -o a -q --threads 1 >said || exit 1
grep -q 'fitted on 400 rows' said || exit 1
coke cluster x.npy -k 6 --fit-rows 400 -o b -q --threads 3 >/dev/null || exit 1
for f in labels.npy centers.npy model.safetensors; do cmp a/$f b/$f || exit 1; done
coke cluster x.npy -k 6 --fit-rows 400 --seed 2 -o c -q >/dev/null || exit 1
! cmp -s a/centers.npy c/centers.npy || exit 1
coke cluster x.npy -k 6 --fit-rows 400 --min-sizes low.txt --weights w.txt -o d -q >/dev/null || exit 1
coke cluster bad.npy -k 3,6 --fit-rows 400 --bad skip -o e -q >/dev/null || exit 1
coke cluster x.npy -k 6 --fit-rows 5000 -o f -q >/dev/null || exit 1
coke cluster x.npy -k 6 -o g -q >/dev/null || exit 1
cmp f/labels.npy g/labels.npy || exit 1
cat x.npy | coke cluster - -k 6 --fit-rows 400 --epochs 1 --no-repair -o h -q >/dev/null 2>&1 || exit 1
py <<'P'
assert sizes("a/labels.npy", 6).min() >= 200
assert sizes("a/labels.npy", 6).sum() == 3000
s = json.load(open("a/summary.json"))
assert s["n"] == 3000 and s["heads"][0]["fit_rows"] == 400 and s["heads"][0]["repaired"]
assert json.load(open("g/summary.json"))["heads"][0]["fit_rows"] == 3000
assert np.all(sizes("d/labels.npy", 6) >= np.loadtxt("low.txt"))
for k in 3, 6:
    label = np.load("e/labels-h%d-k%d.npy" % (k // 6, k))
    assert label[17] == -1 and np.sum(label == -1) == 1
    assert np.bincount(label[label >= 0], minlength=k).min() >= int(0.4 * 2999 / k)
P
