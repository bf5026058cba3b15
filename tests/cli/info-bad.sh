# shellcheck shell=bash
# Bytes of no known kind.
echo hello > x.bin
coke info x.bin
