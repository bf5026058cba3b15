# shellcheck shell=bash
# --force overwrites, and leaves strangers alone.
py <<'P'
save()
P
mkdir out
echo old > out/labels.npy
echo mine > out/other
coke cluster x.npy -k 6 -o out -q --force >/dev/null || exit 1
py <<'P'
assert len(np.load("out/labels.npy")) == 600
assert sorted(os.listdir("out")) == ["centers.npy", "checksums.xxh3", "labels.npy",
                                     "model.safetensors", "other", "summary.json"]
P
