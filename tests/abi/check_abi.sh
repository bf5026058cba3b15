#!/usr/bin/env bash
# check_abi.sh - a program of an older header and a program in C++ run with the library as built.
set -eu
top=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
link=(-L"$build" -lcoke -Wl,-rpath,"$build")
strict=(-Wall -Wextra -Werror)

${CC:-cc} -std=c11 "${strict[@]}" "$top/tests/abi/old_program.c" -o "$work/old" "${link[@]}"
"$work/old" "$work/made"

# The header alone, as C and as strict C++.
echo '#include <coke.h>' >"$work/header.c"
${CC:-cc} -std=c99 -pedantic "${strict[@]}" -I"$top/include" -fsyntax-only "$work/header.c"
if ! command -v "${CXX:-c++}" >/dev/null; then
    echo "no C++ compiler: program.cpp is not compiled"
    exit 0
fi
${CXX:-c++} -std=c++11 -pedantic "${strict[@]}" -I"$top/include" "$top/tests/abi/program.cpp" \
    -o "$work/program" "${link[@]}"
"$work/program"
