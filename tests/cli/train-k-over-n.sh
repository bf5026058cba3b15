# shellcheck shell=bash
coke train synthetic:n=100 -o out -k 101 --batch 50
