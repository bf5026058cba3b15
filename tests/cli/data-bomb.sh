# shellcheck shell=bash
# A file of a few bytes that claims 20000 x 20000 pixels is refused without the memory for them.
py <<'P'
import struct, zlib
def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
os.mkdir("set")
head = struct.pack(">IIBBBBB", 20000, 20000, 8, 2, 0, 0, 0)
open("set/bomb.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) +
    chunk(b"IDAT", zlib.compress(bytes(1000000))) + chunk(b"IEND", b""))
P
# The sanitizers reserve terabytes.
ldd "$(command -v coke)" | grep -q asan || ulimit -v 2000000
coke data verify set -q --threads 1
