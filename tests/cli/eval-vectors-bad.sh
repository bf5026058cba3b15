# shellcheck shell=bash
# What does not belong to the clustering is refused in one sentence, and nothing is written.
py <<'P'
save(n=60)
np.save("short.npy", np.zeros(59, "i4"))
np.save("half.npy", np.full(60, .5, "f4"))
np.save("flat.npy", np.zeros((60, 1), "i4"))
np.save("none.npy", np.full(60, -1, "i4"))
save("other.npy", n=61)
open("short.txt", "w").write("a\n" * 59)
open("long.txt", "w").write("a\n" * 61)
open("empty.txt", "w").write("\n" * 60)
open("bytes.txt", "wb").write(b"a\0b\n" * 60)
open("nothing.txt", "w")
P
coke cluster x.npy -k 3,4 -o c -q >/dev/null || exit 99
mkdir empty
try() {
    "$@" -q
    echo "$?" >&2
}
for file in short.npy half.npy flat.npy none.npy short.txt long.txt empty.txt bytes.txt nothing.txt \
    missing.txt empty; do
    try coke eval cluster c --classes $file
done
try coke eval cluster empty --classes short.txt
try coke eval cluster c c --classes short.txt
try coke eval cluster --classes short.txt
try coke eval cluster c --vectors other.npy
try coke eval cluster c --vectors missing.npy
try coke eval cluster c --vectors x.npy --sample 1
try coke report c --names short.txt -o r.html
try coke report c --classes long.txt --table t.csv
try coke report c --table none/t.csv
try coke report c
touch there.csv
try coke report c --table there.csv -o r.html
try coke report c --table t.csv -o r.html --images missing
python3 - <<'P'
import struct
raw = bytearray(open("c/labels-h1-k4.npy", "rb").read())
raw[-4:] = struct.pack("<i", 4)
open("c/labels-h1-k4.npy", "wb").write(raw)
P
try coke eval cluster c --classes half.npy
rm c/checksums.xxh3
try coke eval cluster c --classes half.npy
find . -name '*.html' -o -name '*.csv'
