# shellcheck shell=bash
mkdir set
echo hello > set/readme.md
coke data info set
