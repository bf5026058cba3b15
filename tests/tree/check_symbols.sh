#!/usr/bin/env bash
# check_symbols.sh - the library exports coke_* and nothing else; what coke.h declares is there.
set -u
library=$1 header=$2
exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sort)
strange=$(grep -v '^coke_' <<<"$exported")
if [ -n "$strange" ]; then
    echo "exported, but not coke_*: ${strange//$'\n'/ }"
    exit 1
fi
declared=$(tr '\n' ' ' <"$header" | sed 's/;/;\n/g' | grep -oE 'COKE_(API|CHECKED) .*' |
    grep -o 'coke_[a-z0-9_]*(' | tr -d '(' | sort)
[ -n "$declared" ] || exit 1
missing=$(comm -13 <(echo "$exported") <(echo "$declared"))
if [ -n "$missing" ]; then
    echo "declared in coke.h, but not exported: ${missing//$'\n'/ }"
    exit 1
fi
# Every function with a pointer among its parameters is called with NULL by a test.
test=$(dirname "$header")/../tests/unit/api/test_null.c
pointers=$(tr '\n' ' ' <"$header" | sed 's/;/;\n/g' | grep -oE 'COKE_(API|CHECKED) .*' |
    grep -oE 'coke_[a-z0-9_]*\([^)]*\*' | grep -o '^coke_[a-z0-9_]*' | sort -u)
for name in $pointers; do
    grep -q "$name(" "$test" || {
        echo "$name is not in tests/unit/api/test_null.c"
        exit 1
    }
done
