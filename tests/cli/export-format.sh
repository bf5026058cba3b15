# shellcheck shell=bash
coke export run -o out
