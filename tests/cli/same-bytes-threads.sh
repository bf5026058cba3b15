# shellcheck shell=bash
# The same bytes for 1, 2, 3 and 5 threads, with all the parts at work.
py <<'P'
save(n=5000, dim=20, groups=30)
np.savetxt("w.txt", np.random.default_rng(3).uniform(.5, 2, 5000))
P
for t in 1 2 3 5; do
    coke cluster x.npy -k 30,70 --ratio .8 --max-ratio 3 --weights w.txt --restarts 2 --polish 2 --threads $t -o out$t -q >/dev/null || exit 1
    coke assign out1/model-h1-k70.safetensors x.npy --constrained -o labels$t.npy --scores scores$t.npy --threads $t -q >/dev/null || exit 1
done
for t in 2 3 5; do
    for f in labels-h0-k30.npy centers-h0-k30.npy model-h0-k30.safetensors labels-h1-k70.npy centers-h1-k70.npy model-h1-k70.safetensors; do
        cmp out1/$f out$t/$f || exit 1
    done
    cmp labels1.npy labels$t.npy && cmp scores1.npy scores$t.npy || exit 1
done
