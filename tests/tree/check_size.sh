#!/usr/bin/env bash
# check_size.sh - the size check passes on this tree and fails on a tree with a line too many.
set -u
top=$1
"$top/scripts/check-size" "$top" || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fresh() {
    rm -rf "$work/tree"
    mkdir "$work/tree"
    cp -r "$top/src" "$top/cli" "$top/include" "$work/tree"
}

# found PATTERN: the check fails on the copy, and a line matches.
found() {
    if "$top/scripts/check-size" "$work/tree" >"$work/found"; then
        echo "not found: $1"
        exit 1
    fi
    grep -q "$1" "$work/found" || {
        echo "not found: $1, but:"
        cat "$work/found"
        exit 1
    }
}

# lines N: a function of N + 3 lines, whose strings and comments have braces.
lines() {
    echo "static int longest(const char *s, int (*f)(int, int))"
    echo "{"
    for ((i = 1; i < $1; i++)); do
        echo "    f(s[0] == '{' || s[0] == '\\'', \"}\\\"{\"[0]); /* } */"
    done
    echo "    return 0;"
    echo "}"
}

fresh
lines 57 >>"$work/tree/src/io/npy.c"
"$top/scripts/check-size" "$work/tree" || exit 1
fresh
lines 58 >>"$work/tree/src/io/npy.c"
found '^src/io/npy.c:[0-9]*: longest has 61 lines; at most 60$'

fresh
echo 'void nine(int a, int b, int c, int d, int e, int f, int g, int (*h)(int, int), int i) { }' \
    >>"$work/tree/cli/main.c"
found '^cli/main.c:[0-9]*: nine has 9 parameters; at most 8$'

fresh
for ((i = 0; i < 700; i++)); do echo "/* line */"; done >>"$work/tree/src/core/mem.h"
found '^src/core/mem.h:1: [0-9]* lines; at most 700$'

# An exception that is no longer needed must go.
fresh
rm "$work/tree/src/nn/dnn_compat.h"
found 'dnn_compat.h ck_pd_conv_data no longer needs an exception$'
