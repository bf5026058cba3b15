# shellcheck shell=bash
# f2, f8, u1 and i1 are read as the numbers they are: labels as of the same numbers in f4.
py <<'P'
for kind in ("f2", "f8", "u1", "i1"):
    x = save(kind + ".npy", dtype=kind)
    np.save(kind + "-f4.npy", x.astype("f4"))
P
for kind in f2 f8 u1 i1; do
    coke cluster $kind.npy -k 6 -o $kind -q >/dev/null || exit 1
    coke cluster $kind-f4.npy -k 6 -o $kind-f4 -q >/dev/null || exit 1
    cmp $kind/labels.npy $kind-f4/labels.npy || exit 1
done
