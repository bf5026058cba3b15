#!/usr/bin/env bash
# check_install.sh - make install: program, manual and library work from where they were put.
set -eu
top=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR=$work cmake --install "$build" --prefix /opt/coke >"$work/log"
root=$work/opt/coke

"$root/bin/coke" --version
test -s "$root/share/man/man1/coke.1"
test -s "$root/share/bash-completion/completions/coke"
test "$(cd "$root/include" && find . -type f | sort | tr '\n' ' ')" = "./coke.h ./coke/types.h "

# The hint for the loader, which is for the person who installs, not for packages.
! grep -q 'The loader' "$work/log"
cmake --install "$build" --prefix "$work/own" >"$work/log" 2>&1
grep -q "set LD_LIBRARY_PATH=$work/own/lib" "$work/log"
# Tests and benchmarks are no part of it.
cmake --build "$build" --target coke_product -- -n >"$work/log" # [n]othing is built
! grep -E 'tests/|bench_' "$work/log"

PKG_CONFIG_PATH=$(dirname "$(find "$root" -name coke.pc)")
export PKG_CONFIG_PATH
pkg-config --exists coke
read -ra flags <<<"$(pkg-config --cflags --libs coke)"
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$top/examples/cluster_array.c" -o "$work/example" \
    "${flags[@]}" -Wl,-rpath,"$(pkg-config --variable=libdir coke)"
"$work/example" | grep -E '^sizes [1-9][0-9]{2} to ' # at least .5 * 10000 / 50

${CC:-cc} -std=c11 -Wall -Wextra -Werror "$top/examples/cluster_stream.c" -o "$work/stream" \
    "${flags[@]}" -Wl,-rpath,"$(pkg-config --variable=libdir coke)"
"$work/stream" "$work/stream.safetensors" | grep -E '^sizes [0-9]{2,3} to ' # at least .4 * 10000 / 50

# Learning lowers the loss, and the clusters find the directions of the stripes (4 of them: .25
# is chance).
${CC:-cc} -std=c11 -O1 -Wall -Wextra -Werror "$top/examples/train_encoder.c" -o "$work/train" \
    "${flags[@]}" -lm -Wl,-rpath,"$(pkg-config --variable=libdir coke)"
"$work/train" | tee "$work/train.log"
awk '/^epoch/ { last = $4; if (!first) first = $4 }
     /^purity/ { purity = $2 }
     END { exit !(last < first && purity > .45) }' "$work/train.log"

# The README shows the example as it is.
awk '/^#include <coke.h>/ { on = 1 } on' "$top/examples/cluster_array.c" >"$work/example.c"
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$top/README.md" >"$work/readme.c"
diff "$work/example.c" "$work/readme.c"
