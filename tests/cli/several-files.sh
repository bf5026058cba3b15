# shellcheck shell=bash
# Three files are one stream: the same labels as of one file with all rows.
py <<'P'
x = save()
np.save("a.npy", x[:100])
np.save("b.npy", x[100:101])
np.save("c.npy", x[101:])
P
coke cluster x.npy -k 6 -o one -q >/dev/null || exit 1
coke cluster a.npy b.npy c.npy -k 6 -o three -q >/dev/null || exit 1
cmp one/labels.npy three/labels.npy && cmp one/centers.npy three/centers.npy &&
    cmp one/model.safetensors three/model.safetensors
