# shellcheck shell=bash
# Names that turn the direction of writing, and bytes that are not UTF-8, do not reach a terminal.
mkdir -p pictures/$'cat\xe2\x80\xaegod' pictures/$'a\xff'
echo none > pictures/$'cat\xe2\x80\xaegod'/$'x\xe2\x80\xae.jpg'
py << 'END'
with open(b"pictures/a\xff/y.ppm", "wb") as f:
    f.write(b"P6 2 2 255\n" + b"\x40" * 12)
END
coke cluster $'a\xe2\x80\xaeb\xff.npy' -k 6 -o out -q
coke data info pictures > said
coke data verify pictures -q >> said
cat said
! grep -q $'\xe2\x80\xae\|\xff' said
