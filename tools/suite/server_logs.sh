# shellcheck shell=bash
# Crashes in the servers' logs: a test may not notice a crash if it then stops the server anyway.
# To be sourced.

# The lines that report a failed assertion, a PANIC, a finding of a sanitizer or a memory context, or a
# process that ended by a crash. The tests end processes by other signals.
crashes_in() {
    grep -hE -e '^TRAP: |PANIC:  |terminated by signal (4|6|7|8|11):|AddressSanitizer|: runtime error: ' \
        -e 'detected write past chunk end' "$@"
}

# no_crash WANTED LOG...: these logs exist, and report no crash, except lines that match the regular
# expression WANTED, which may be empty.
no_crash() {
    local wanted=$1 crashes status=0
    shift
    crashes=$(crashes_in "$@") || status=$?
    ((status <= 1)) || return 1
    [[ -z $wanted ]] || crashes=$(grep -vE "$wanted" <<<"$crashes")
    [[ -z $crashes ]] || { echo "$crashes"; return 1; }
}
