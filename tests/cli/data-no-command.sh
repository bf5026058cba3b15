# shellcheck shell=bash
coke data --help | head -n 1
coke data
