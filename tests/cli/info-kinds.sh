# shellcheck shell=bash
# One paragraph a file.
py <<'P'
x = save()
save_vecs("x.fvecs", x)
P
coke cluster x.npy -k 6 -o out -q >/dev/null || exit 1
coke info x.npy x.fvecs out/labels.npy out/model.safetensors out
