#!/bin/sh
# replay.sh - runs a fuzz target once over its kept inputs.
#
# usage: replay.sh PROGRAM CORPUS.tar.gz
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$2"
"$1" -runs=0 -timeout=10 -rss_limit_mb=2048 "$work"
