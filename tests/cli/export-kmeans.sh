# shellcheck shell=bash
# A model of k-means holds no encoder.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o m -q >/dev/null || exit 99
coke export m/model.safetensors --format pth -o out
