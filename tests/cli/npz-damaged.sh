# shellcheck shell=bash
# A flipped bit in a stored and in a compressed array is found before anything is written.
py <<'P'
for name, save in ("stored", np.savez), ("packed", np.savez_compressed):
    save(name + ".npz", vectors())
    data = bytearray(open(name + ".npz", "rb").read())
    data[len(data) // 2] ^= 4
    open(name + ".npz", "wb").write(data)
P
coke cluster stored.npz -k 6 -o out -q
coke cluster packed.npz -k 6 -o out -q
