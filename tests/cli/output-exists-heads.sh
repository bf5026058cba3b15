# shellcheck shell=bash
# The names of several clusterings are known before the work, too.
mkdir kept
echo mine > kept/model-h1-k7.safetensors
coke cluster nowhere.npy -k 6,7 -o kept -q
