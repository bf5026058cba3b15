# shellcheck shell=bash
# The same bytes for every instruction set (one that this CPU lacks falls back to another).
py <<'P'
save(n=5000, dim=37, groups=30)
P
for isa in ref avx2 avx512 vnni amx amx-emulated; do
    COKE_ISA=$isa coke cluster x.npy -k 50 --ratio .8 --restarts 1 --polish 2 -o $isa -q >/dev/null || exit 1
done
# The choice is real: the reference runs everywhere, and an unknown name is said.
grep -q '"isa": "ref"' ref/summary.json || exit 1
COKE_ISA=foo coke info x.npy 2>&1 >/dev/null | grep -q 'COKE_ISA=foo is unknown' || exit 1
for isa in avx2 avx512 vnni amx amx-emulated; do
    for f in labels.npy centers.npy model.safetensors; do
        cmp ref/$f $isa/$f || exit 1
    done
done
