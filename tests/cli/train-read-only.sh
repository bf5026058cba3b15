# shellcheck shell=bash
[ "$(id -u)" != 0 ] || { echo x > file; coke train synthetic:n=100 -k 5 --batch 20 -o file/run; exit $?; }
mkdir ro && chmod 555 ro
coke train synthetic:n=100 -k 5 --batch 20 -o ro/run
