#!/usr/bin/env bash
# check_onednn_found.sh - a oneDNN that is missing, too old or of another runtime: said in words.
set -eu
top=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# place MAJOR MINOR PATCH RUNTIME: something that looks like that oneDNN.
place() {
    local header=$work/root/include/oneapi/dnnl
    mkdir -p "$header" "$work/root/lib"
    printf '#define DNNL_VERSION_%s %s\n' MAJOR "$1" MINOR "$2" PATCH "$3" >"$header/dnnl_version.h"
    echo "#define DNNL_CPU_THREADING_RUNTIME DNNL_RUNTIME_$4" >"$header/dnnl_config.h"
    : >"$header/dnnl.h"
    : >"$work/root/lib/libdnnl.so"
}

# says PATTERN: the configuration fails with these words (CMake breaks its lines anywhere).
says() {
    rm -rf "$work/build"
    if cmake -S "$top" -B "$work/build" "-DOneDNN_ROOT=$work/root" >"$work/said" 2>&1; then
        echo "configured, but expected: $1"
        exit 1
    fi
    tr -s '\n ' ' ' <"$work/said" | grep -qF "$1" || {
        echo "expected: $1"
        cat "$work/said"
        exit 1
    }
}

mkdir "$work/root"
says "oneDNN is missing in OneDNN_ROOT ($work/root): 2.6 or newer is needed (Debian 12 and later: libdnnl-dev)"
place 2 2 4 OMP
says 'oneDNN 2.2.4 is too old: 2.6 or newer is needed (Debian 12 and later: libdnnl-dev)'
place 2 5 9 OMP
says 'oneDNN 2.5.9 is too old'
place 3 10 0 TBB
says 'oneDNN 3.10.0 is built for the thread runtime TBB: a build for OpenMP is needed'
