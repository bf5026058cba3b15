# shellcheck shell=bash
coke data info nowhere
