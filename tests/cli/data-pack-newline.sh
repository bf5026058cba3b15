# shellcheck shell=bash
# Classes whose names differ only after a newline stay different.
mkdir -p pictures/$'a\nb' pictures/$'a\nc' pictures/a
py << 'END'
for c in ["a\nb", "a\nc", "a"]:
    with open("pictures/%s/x.ppm" % c, "wb") as f:
        f.write(b"P6 2 2 255\n" + b"\x40" * 12)
END
coke data pack pictures -o out-x -q >/dev/null || exit 1
sort -u out-x-classes.txt
coke data info out-x-000000.tar | grep -c ' 1  a'
