# shellcheck shell=bash
# A compressed tar that breaks off: what came before is described, and the exit code says it.
coke data pack synthetic:n=20,size=16 -o x -q >/dev/null || exit 1
gzip x-000000.tar
head -c 3000 x-000000.tar.gz > short.tar.gz
coke data info short.tar.gz --json >/dev/null 2>&1
[ $? = 3 ] || exit 1
coke data info short.tar.gz
