# shellcheck shell=bash
# A header that promises more rows than there are; the remedy is named.
py <<'P'
import struct
for name, n, d, rows in (("more", 10**6, 8, 600), ("zero", 0, 8, 600), ("wide", 1, 2**31, 600),
                         ("most", 2**32 - 1, 2**31 - 1, 600), ("none", 600, 8, 0)):
    with open(name + ".fbin", "wb") as f:
        f.write(struct.pack("<II", n, d) + b"\0" * (4 * 8 * rows))
P
printf 'abc' >short.u8bin
: >empty.i8bin
for name in more.fbin zero.fbin wide.fbin most.fbin none.fbin short.u8bin empty.i8bin; do
    coke cluster $name -k 6 -o out -q
    [ $? = 3 ] || echo "$name: not 3"
done
exit 3
