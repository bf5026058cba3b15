#!/usr/bin/env bash
# check_threads.sh - four threads with objects of their own, with ThreadSanitizer.
#
# usage: check_threads.sh SOURCE FOLDER [RUNS]
# Teams of one, because the sanitizer does not see how the threads of OpenMP wait for each other.
# A race shows in some of the runs only.
set -eu
top=$1 folder=$2 runs=${3:-5}
mkdir -p "$folder"
generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
cmake "${generator[@]}" -S "$top" -B "$folder/build" -DCOKE_DEV=ON -DCOKE_TSAN=ON \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=gcc >"$folder/log"
cmake --build "$folder/build" -j "$(nproc)" --target test_threads >"$folder/log" || {
    cat "$folder/log"
    exit 1
}
for i in $(seq "$runs"); do
    OMP_NUM_THREADS=1 TSAN_OPTIONS="suppressions=$top/tests/support/tsan.supp" \
        "$folder/build/tests/test_threads"
done
