# shellcheck shell=bash
# The same bytes for every instruction set (one that this CPU lacks falls back to another).
py <<'P'
save(n=5000, dim=37, groups=30)
P
for isa in ref avx2 avx512 vnni; do
    COKE_ISA=$isa coke cluster x.npy -k 50 --ratio .8 -o $isa -q >/dev/null || exit 1
done
for isa in avx2 avx512 vnni; do
    for f in labels.npy centers.npy model.safetensors; do
        cmp ref/$f $isa/$f || exit 1
    done
done
