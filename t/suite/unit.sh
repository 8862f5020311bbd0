#!/usr/bin/env bash
# Brute force over the pure headers: bits, rule, waits.
set -euo pipefail

# Compilers for 32 bits have no integers of 128 bits, which the slower arithmetic needs.
if ! grep -qx 16 < <(g++ -E -P - <<<__SIZEOF_INT128__); then
    echo 'ok brute force # skip the compiler has no integers of 128 bits'
    exit
fi
g++ -std=c++20 -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover=all \
    -Isrc proof/unit/brute_force.cpp -o "$TEST_DIR/brute_force"
"$TEST_DIR/brute_force"
echo 'ok brute force'
