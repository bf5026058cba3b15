#!/usr/bin/env bash
# check_onednn_openmp.sh - oneDNN's threads are those of the library: one OpenMP runtime at work.
#
# oneDNN is built for libgomp. A library built with clang brings libomp, which defines libgomp's
# names too and stands before it in the search order, so that oneDNN's calls end there.
set -eu
bindings=$(LD_BIND_NOW=1 LD_DEBUG=bindings "$1" --version 2>&1 >/dev/null)

# runtimes LIBRARY: where its OpenMP calls go.
runtimes() {
    sed -nE "s,.*binding file [^ ]*$1[^ ]* .* to ([^ ]*) .*: normal symbol .(GOMP_|omp_|__kmpc_).*,\1,p" \
        <<<"$bindings" | sort -u
}
ours=$(runtimes libcoke) theirs=$(runtimes libdnnl)
if [ -z "$ours" ] || [ "$ours" != "$theirs" ]; then
    echo "OpenMP of the library: ${ours:-none}; of oneDNN: ${theirs:-none}"
    exit 1
fi
