# shellcheck shell=bash
# Vectors in the place of the model.
py <<'P'
save()
P
coke assign x.npy x.npy -o out -q
