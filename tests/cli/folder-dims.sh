# shellcheck shell=bash
# Shards of different dimensions are named.
mkdir shards
py <<'P'
np.save("shards/a.npy", vectors())
np.save("shards/b.npy", vectors()[:, :3])
P
coke cluster shards -k 6 -o out -q
