# shellcheck shell=bash
# The programs that record what clients receive, and judge it (proof/judge). To be sourced.

# compile_judge [FLAG...]: into $SANDBOX/judge.
compile_judge() {
    local program compiling=() one status=0
    mkdir -p "$SANDBOX/judge"
    for program in record check; do
        g++ -std=c++20 -O2 "$@" -isystem "$("$PG_CONFIG" --includedir)" \
            "proof/judge/$program.cpp" -o "$SANDBOX/judge/$program" \
            -L"$("$PG_CONFIG" --libdir)" -lpq -pthread &
        compiling+=($!)
    done
    for one in "${compiling[@]}"; do
        wait "$one" || status=1
    done
    return "$status"
}
