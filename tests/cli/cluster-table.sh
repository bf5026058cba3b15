# shellcheck shell=bash
# The table, the files and the sizes that were promised.
py <<'P'
save()
P
coke cluster x.npy -k 6 --ratio .5 -o out -q || exit 1
py <<'P'
assert sorted(os.listdir("out")) == ["centers.npy", "checksums.xxh3", "labels.npy",
                                     "model.safetensors", "summary.json"]
label = np.load("out/labels.npy")
assert label.dtype == np.int32 and label.shape == (600,)
center = np.load("out/centers.npy")
assert center.dtype == np.float32 and center.shape == (6, 8)
assert np.allclose(np.linalg.norm(center, axis=1), 1, atol=1e-5)
assert sizes(k=6).min() >= 50, sizes(k=6)
P
