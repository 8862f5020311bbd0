# shellcheck shell=bash
# What the servers' logs say of crashes, which a test may not notice where it ends the server next anyway.
# To be sourced.

# The lines that tell of a failed assertion, a PANIC, what a sanitizer or a memory context found, or a
# process ended by an error of its own. The tests end processes by other signals.
crashes_in() {
    grep -hE -e '^TRAP: |PANIC:  |terminated by signal (4|6|7|8|11):|AddressSanitizer|: runtime error: ' \
        -e 'detected write past chunk end' "$@"
}

# no_crash WANTED LOG...: these logs are there, and tell of no crash but those whose lines the regular
# expression WANTED, which may be empty, matches.
no_crash() {
    local wanted=$1 crashes status=0
    shift
    crashes=$(crashes_in "$@") || status=$?
    ((status <= 1)) || return 1
    [[ -z $wanted ]] || crashes=$(grep -vE "$wanted" <<<"$crashes")
    [[ -z $crashes ]] || { echo "$crashes"; return 1; }
}
