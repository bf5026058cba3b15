# shellcheck shell=bash
# Weights and sizes may come from a pipe, as text and as .npy.
py <<'P'
save("x.npy")
np.save("w.npy", np.arange(1, 601))
P
coke cluster x.npy -k 6 -o a -q --weights <(seq 600) --min-sizes <(yes 50 | head -6) >/dev/null
coke cluster x.npy -k 6 -o b -q --weights <(cat w.npy) --min-sizes <(yes 50 | head -6) >/dev/null
cmp a/labels.npy b/labels.npy && echo same
coke cluster x.npy -k 6 -o out -q --weights <(seq 10)
