# shellcheck shell=bash
# A file of rows that becomes shorter while it is read is an error with its name, and no output.
py << 'END'
import os
n = 40000
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 256), }" % n
head += " " * (117 - len(head)) + "\n"
with open("x.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
    row = bytes(range(1, 129)) * 8
    for i in range(n):
        f.write(row)
END
coke cluster x.npy -k 50 --epochs 1000 --threads 2 -o out -q &
until grep -q x.npy "/proc/$!/maps" 2>/dev/null || ! kill -0 $!; do sleep 0.05; done
sleep 0.2
truncate -s 4096 x.npy
wait $!
