# shellcheck shell=bash
# Centers that are given keep their numbers: the i-th size is that of the cluster grown from the
# i-th center, in every row format, from a model, and for any number of threads.
py <<'P'
rng = np.random.default_rng(3)
c = rng.normal(size=(6, 16))
group = rng.integers(0, 6, 1200)
np.save("x.npy", (c[group] + 0.3 * rng.normal(size=(1200, 16))).astype("f4"))
np.save("c.npy", c)
save_vecs("c.fvecs", c.astype("f4"))
np.save("group.npy", group)
np.savetxt("low.txt", [10, 320, 10, 10, 10, 10], fmt="%d")
P
coke cluster x.npy --init c.npy -o plain -q >/dev/null || exit 1
coke cluster x.npy --init c.npy --min-sizes low.txt -o a -q --threads 1 >/dev/null || exit 1
coke cluster x.npy --init c.fvecs --min-sizes low.txt -k 6 -o b -q --threads 3 >/dev/null || exit 1
cmp a/labels.npy b/labels.npy || exit 1
cmp a/model.safetensors b/model.safetensors || exit 1
coke cluster x.npy --init plain -o c -q >/dev/null || exit 1
coke cluster x.npy --init plain/model.safetensors -o d -q >/dev/null || exit 1
cmp c/labels.npy d/labels.npy || exit 1
COKE_INIT=c.npy coke cluster x.npy -o e -q >/dev/null || exit 1
cmp plain/labels.npy e/labels.npy || exit 1
coke cluster x.npy -k 6 --init c.npy --init sample -o f -q >/dev/null || exit 1
coke cluster x.npy -k 6 --init sample -o g -q >/dev/null || exit 1
cmp f/labels.npy g/labels.npy || exit 1
py <<'P'
group = np.load("group.npy")
for out in "plain", "c":
    assert np.mean(np.load(out + "/labels.npy") == group) > 0.95, out
assert np.bincount(group)[1] < 320
assert np.all(sizes("a/labels.npy", 6) >= np.loadtxt("low.txt"))
near = load_rows("c.npy") @ load_rows("a/centers.npy").T
assert np.all(near.argmax(1) == np.arange(6)), near
P
