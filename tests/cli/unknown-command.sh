# shellcheck shell=bash
# A command that is not there.
coke clustr x.npy
