#!/usr/bin/env bash
# clang-tidy; .clang-tidy is the configuration, with its reasons. Without the analysis of nested calls it takes half the
# time. No file of src includes a header in vain: releases before 17 do not have that check; what else it finds, that a
# name comes by way of another header, is fine here.
set -euo pipefail
flags=(-std=c++20 -fno-exceptions -fno-rtti -Isrc -Icontrib/lease/src -Icontrib/readers/src -isystem "$("$PG_CONFIG" --includedir-server)"
    -isystem "$("$PG_CONFIG" --includedir)" -Wno-deprecated-volatile)
includes=(clang-tidy --quiet '--checks=-*,misc-include-cleaner')
if "${includes[@]}" --list-checks 2>/dev/null | grep -q include-cleaner; then
    if "${includes[@]}" --warnings-as-errors= src/*.cpp src/*/*.cpp contrib/*/src/*.cpp -- "${flags[@]}" -DUSE_ASSERT_CHECKING 2>/dev/null |
        grep 'is not used directly'; then
        exit 1
    fi
    echo 'ok includes are used'
fi
depth=shallow
[[ -z ${FULL:-} ]] || depth=deep
clang-tidy --quiet src/*.cpp src/*/*.cpp contrib/*/src/*.cpp proof/*/*.cpp -- "${flags[@]}" -Xclang -analyzer-config -Xclang "mode=$depth"
echo 'ok clang-tidy'
