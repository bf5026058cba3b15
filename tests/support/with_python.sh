#!/usr/bin/env bash
# with_python.sh - runs a test with the Python of scripts/get-python.
#
# usage: tests/support/with_python.sh TREE DIR SCRIPT ARGUMENT...
set -u
tree=$1 dir=$2
shift 2
"$tree/scripts/get-python" "$dir" || exit
exec "$dir/bin/python" "$@"
