# shellcheck shell=bash
# A model whose bytes were changed is noticed.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o m -q >/dev/null || exit 99
py <<'P'
with open("m/model.safetensors", "r+b") as f:
    f.seek(-3, 2)
    f.write(b"\xff")
P
coke assign m x.npy -o out -q
