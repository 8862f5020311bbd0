#!/usr/bin/env bash
# The sources compile without a warning; the core sees no header of PostgreSQL, and the engine none of its users. Only
# here warnings are errors: a user's newer compiler may have more of them.
set -euo pipefail
flags=(-std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fsyntax-only -Wall -Wextra -Werror -Isrc)

none() {
    ! grep "$@"
}

# sandbox.sh has built the library by g++, and t/pages/install.pl does by clang++.
[[ -e $SANDBOX/build.log ]]
none -A5 'warning:' "$SANDBOX/build.log"
for compiler in g++ clang++; do
    for header in src/core/*.hpp; do
        "$compiler" "${flags[@]}" -I. -x c++ - <<<"#include \"$header\""
    done
    echo "ok $compiler"
done
none -nE '#include "(\.\.|engine|functions)/' src/core/*
grep -hE '#include <' src/core/* | none -vE '<(bit|cstddef|cstdint|limits)>'
none -nE '#include "functions/' src/engine/* contrib/*/src/*
echo 'ok includes'
