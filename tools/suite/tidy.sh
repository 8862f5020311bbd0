#!/usr/bin/env bash
# clang-tidy; .clang-tidy is the configuration, with its reasons. Without the analysis of nested calls it takes half the
# time.
set -euo pipefail
depth=shallow
[[ -z ${FULL:-} ]] || depth=deep
clang-tidy --quiet src/*.cpp src/*/*.cpp test/*/*.cpp -- -std=c++20 -fno-exceptions -fno-rtti -Isrc \
    -isystem "$("$PG_CONFIG" --includedir-server)" -isystem "$("$PG_CONFIG" --includedir)" -Wno-deprecated-volatile \
    -Xclang -analyzer-config -Xclang "mode=$depth"
echo 'ok clang-tidy'
