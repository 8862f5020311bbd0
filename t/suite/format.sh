#!/usr/bin/env bash
# clang-format.
set -euo pipefail
clang-format --dry-run -Werror src/*.{h,cpp} src/core/*.hpp src/engine/*.{h,cpp} src/functions/*.cpp contrib/*/src/*.{h,cpp} proof/*/*.{hpp,cpp}
echo 'ok clang-format'
