# shellcheck shell=bash
# No command at all.
coke
