#!/usr/bin/env bash
# check_clustering.sh - a build without networks: needs no oneDNN, no OpenMP and no image library,
# clusters with the same bytes, and says what it lacks. The Python tests run with it, too.
#
# usage: check_clustering.sh SOURCE BUILD-FOLDER COKE PYTHON
set -euo pipefail
source=$1 build=$2 coke=$3 python=$4

cmake -S "$source" -B "$build" -DCOKE_NN=OFF >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -j 2 >"$build.log" 2>&1 || { tail -n 40 "$build.log"; exit 1; }
if ldd "$build/libcoke.so" | grep -E 'dnnl|gomp|libomp|jpeg|png|webp'; then
    echo "the library of a build without networks needs these"
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$python" -c 'import numpy as np
np.save("x.npy", np.random.RandomState(0).randn(5000, 12).astype("f4"))' || exit 77
"$coke" cluster x.npy -k 20 -o full -q
"$build/coke" cluster x.npy -k 20 -o small -q
for threads in 1 2 5; do
    "$build/coke" cluster x.npy -k 20 -o "small-$threads" -q --threads $threads
    cmp "small-$threads/labels.npy" full/labels.npy
done
cmp full/model.safetensors small/model.safetensors
"$build/coke" assign small x.npy -o labels.npy --constrained -q
cmp labels.npy full/labels.npy
"$build/coke" assign small x.npy -o other.npy --copy-to sorted -q 2>message && exit 1
grep -q 'COKE_NN=ON' message
for test in cluster_call estimator; do
    COKE_LIBRARY=$build/libcoke.so COKE_PROGRAM=$build/coke COKE_SOURCE=$source \
        PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 "$python" "$source/tests/python/test_$test.py"
done
