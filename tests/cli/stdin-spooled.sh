# shellcheck shell=bash
# A pipe is spooled, it says so, and the result is that of the file.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o file -q >/dev/null || exit 1
cat x.npy | coke cluster - -k 6 -o pipe >/dev/null || exit 1
cmp file/labels.npy pipe/labels.npy && cmp file/model.safetensors pipe/model.safetensors
