# shellcheck shell=bash
# A model continues with new rows: clusters keep their numbers, bounds are those of the model in
# proportion unless this call sets others, and the result is a model like any other.
py <<'P'
rng = np.random.default_rng(5)
c = np.eye(5, 12)
np.save("c.npy", c)
for name, n, p in ("old", 1500, [.2] * 5), ("new", 500, [.4, .15, .15, .15, .15]):
    group = rng.choice(5, n, p=p)
    np.save(name + ".npy", (c[group] + 0.15 * rng.normal(size=(n, 12))).astype("f4"))
P
coke cluster old.npy --init c.npy --ratio 0.5 --max-ratio 1.8 -o old -q >/dev/null || exit 1
coke cluster new.npy --continue old -o a -q --threads 1 >/dev/null || exit 1
coke cluster new.npy --continue old/model.safetensors -k 5 -o b -q --threads 3 >/dev/null || exit 1
cmp a/labels.npy b/labels.npy || exit 1
cmp a/model.safetensors b/model.safetensors || exit 1
coke cluster new.npy --continue old --ratio 0.2 -o c -q >/dev/null || exit 1
coke cluster new.npy --continue a -o d -q >/dev/null || exit 1
coke assign d new.npy --constrained -o labels.npy -q >/dev/null || exit 1
py <<'P'
for out in "a", "d":
    n = sizes(out + "/labels.npy", 5)
    assert n.min() >= 50 and n.max() <= 180, n
assert sizes("c/labels.npy", 5).max() > 190
near = load_rows("old/centers.npy") @ load_rows("a/centers.npy").T
assert np.all(near.argmax(1) == np.arange(5)), near
P
