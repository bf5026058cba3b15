#!/usr/bin/env bash
# check_layers.sh - the layer check passes on this tree and fails on a tree with a wrong line.
set -u
top=$1
"$top/scripts/check-layers" "$top" || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# wrong FILE LINE PATTERN: adds the line to the file in the copy; it has to be found. All are in one
# copy, because reading the tree takes the time.
mkdir "$work/tree"
cp -r "$top/src" "$top/cli" "$work/tree"
files=() lines=() patterns=()
wrong() {
    echo "$2" >>"$work/tree/$1"
    files+=("$1") lines+=("$2") patterns+=("$3")
}
wrong src/core/mem.c '#include "kernels/kernels.h"' 'core includes kernels, which lies above it'
wrong src/data/synthetic_vectors.c '#include "cluster/job.h"' 'data includes cluster, which lies beside it'
wrong src/cluster/scan.c '#include "api/api.h"' 'cluster includes api, which lies above it'
wrong src/cluster/scan.c '#include "dist/group.h"' 'cluster does not include dist/group.h'
wrong src/cluster/scan.c '#include "io/file.h"' 'cluster does not include io/file.h'
wrong src/train/heads.c '#include "cluster/kmeans_internal.h"' 'cluster/kmeans_internal.h is private to cluster'
wrong src/cluster/scan.c '#include <immintrin.h>' 'immintrin.h belongs in kernels'
wrong src/cluster/scan.c '#include <jansson.h>' 'jansson.h belongs in io'
wrong src/io/npy.c '#include <omp.h>' 'omp.h belongs in core/workers.c only'
wrong src/io/npy.c 'void f(void) { exit(1); }' 'exit() in the library'
wrong src/io/npy.c 'void f(void) { printf("x"); }' 'printf() in the library'
wrong src/core/mem.c '#include "coke.h"' 'coke.h belongs in api; include coke/types.h'
wrong src/report/report.c '#include "cluster/kmeans.h"' 'report does not include cluster/kmeans.h'
wrong src/report/report.c '#include "train/session.h"' 'report does not include train/session.h'
wrong src/cluster/scan.c $'int coke_scan(void)\n{\n    return 0;\n}' 'coke_scan() is public: define it in src/api'
wrong src/api/api_files.c $'int coke_long(void)\n{'"$(printf '\n    f();%.0s' {1..15})"$'\n}' 'coke_long() has 18 lines'
wrong src/io/npy.c 'double f(const char *s) { return strtod(s, NULL); }' 'strtod() depends on the locale'
wrong src/io/npy.c 'void f(char *s) { snprintf(s, 9, "%d %.*g", 1, 2, 3.0); }' 'a number printed'
wrong cli/main.c '#include "core/mem.h"' 'core/mem.h: the program knows coke.h only'
cp "$work/tree/src/io/npy.h" "$work/tree/src/core/npy.h"
if "$top/scripts/check-layers" "$work/tree" >"$work/found"; then
    echo "the wrong lines were not found"
    exit 1
fi
for i in "${!files[@]}"; do
    grep -q "^${files[i]}:[0-9]*: ${patterns[i]}" "$work/found" || {
        echo "not found: '${lines[i]}' in ${files[i]}; found:"
        cat "$work/found"
        exit 1
    }
done
grep -q 'npy.h: there is .* already' "$work/found" || {
    echo "a second npy.h was not found"
    exit 1
}
