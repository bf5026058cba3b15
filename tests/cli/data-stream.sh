# shellcheck shell=bash
# A pipe and a compressed tar are read once; what needs more refuses them in words.
coke data pack synthetic:n=20,size=16 -o x -q >/dev/null || exit 1
coke data verify - -q < x-000000.tar || exit 1
gzip -k x-000000.tar
coke data verify x-000000.tar.gz -q || exit 1
coke data pack x-000000.tar.gz -o y -q || exit 1
cmp x-000000.tar y-000000.tar || exit 1
coke data preview x-000000.tar.gz -o sheet.png
