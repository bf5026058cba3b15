# shellcheck shell=bash
coke train synthetic:n=100 -o out -k 10 --batch 256
