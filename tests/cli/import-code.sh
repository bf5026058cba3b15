# shellcheck shell=bash
# A .pth that would run a program: refused by name, and not run.
/usr/bin/python3 - <<'P'
import zipfile
with zipfile.ZipFile("x.pth", "w") as z:
    z.writestr("x/data.pkl", b"cos\nsystem\n(X\x0b\0\0\0touch pwnedtR.")
P
coke import x.pth -o out
code=$?
[ ! -e pwned ] || exit 99
exit $code
