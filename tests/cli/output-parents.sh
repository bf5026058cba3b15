# shellcheck shell=bash
# All missing folders of -o are made; a failure takes them back and leaves those that were there.
set -e
py <<'P'
save(n=600)
P
coke cluster x.npy -k 6 -o a/b/c -q >/dev/null
test -f a/b/c/labels.npy
coke cluster x.npy -k 6 -o a/d/./e// -q >/dev/null
test -f a/d/e/labels.npy
coke cluster x.npy -k 6 -o "$PWD/a/f/g" -q >/dev/null
test -f a/f/g/labels.npy
mkdir g
(ulimit -f 1; ! coke cluster x.npy -k 6 -o g/h/i -q >/dev/null 2>&1)
test -z "$(ls g)"
echo x > file
coke cluster x.npy -k 6 -o file/b/c -q
