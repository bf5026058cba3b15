#!/usr/bin/env bash
# check_onednn3.sh - the network's tests and the recordings' with Debian 13's oneDNN 3.x.
#
# usage: check_onednn3.sh SOURCE FOLDER VERSION    VERSION is the oneDNN of the calling build.
# Exit code 77: the packages cannot be had here, or the calling build has a 3.x already.
set -eu
top=$1 folder=$2 version=$3
if [ "${version%%.*}" -ge 3 ]; then
    echo "skipped: the system's oneDNN is $version already, so the other tests have run with a 3.x"
    exit 77
fi
"$top/scripts/get-onednn3" "$folder/root"

generator=()
if command -v ninja >/dev/null; then
    generator=(-G Ninja)
fi
cmake "${generator[@]}" -C "$folder/root/onednn3.cmake" -S "$top" -B "$folder/build" >"$folder/log"
cmake --build "$folder/build" -j "$(nproc)" --target nn_tests >"$folder/log" || {
    cat "$folder/log"
    exit 1
}
# A build that took the system's library would pass as well, and prove nothing.
ldd "$folder/build/tests/golden_tests" | grep 'libdnnl\.so\.3' || {
    echo "the tests are not linked to the oneDNN that was unpacked"
    exit 1
}
ctest --test-dir "$folder/build" --output-on-failure -j "$(nproc)" -R '^(nn/|golden/|kernels/gemm)' \
    -E '^golden/comparator$' --no-tests=error
