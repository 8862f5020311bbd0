# shellcheck shell=bash
# The programs that record what clients receive, and judge it (proof/judge). To be sourced.

# compile_judge [FLAG...]: into $SANDBOX/judge.
compile_judge() {
    mkdir -p "$SANDBOX/judge"
    printf '%s\n' record check | xargs -P 2 -I '{}' g++ -std=c++20 -O2 "$@" -isystem "$("$PG_CONFIG" --includedir)" \
        'proof/judge/{}.cpp' -o "$SANDBOX/judge/{}" -L"$("$PG_CONFIG" --libdir)" -lpq -pthread
}
