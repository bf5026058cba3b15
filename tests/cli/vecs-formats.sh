# shellcheck shell=bash
# .fvecs and .bvecs give what the same numbers in a .npy give.
py <<'P'
x = save("f.npy")
save_vecs("f.fvecs", x)
b = save("b.npy", dtype="u1")
save_vecs("b.bvecs", b)
P
for kind in f b; do
    coke cluster $kind.npy -k 6 -o $kind-npy -q >/dev/null || exit 1
    coke cluster $kind.${kind}vecs -k 6 -o $kind-vecs -q >/dev/null || exit 1
    cmp $kind-npy/labels.npy $kind-vecs/labels.npy || exit 1
    cmp $kind-npy/centers.npy $kind-vecs/centers.npy || exit 1
done
