# shellcheck shell=bash
# A bar on a terminal, in colour unless NO_COLOR is set.
command -v script >/dev/null || exit 77
script -qec true /dev/null </dev/null >/dev/null 2>&1 || exit 77 # no pseudo-terminals here
py <<'P'
save()
P
script -qec 'coke cluster x.npy -k 6 --epochs 2 --force -o out' /dev/null </dev/null >color.txt || exit 1
NO_COLOR=1 script -qec 'coke cluster x.npy -k 6 --epochs 2 --force -o out' /dev/null </dev/null >plain.txt || exit 1
py <<'P'
color, plain = open("color.txt", "rb").read(), open("plain.txt", "rb").read()
bar = b"epoch 2/2  [%s" + b"#" * 24
assert bar % b"\x1b[32m" in color, color
assert bar % b"" in plain and b"\x1b[3" not in plain, plain
P
