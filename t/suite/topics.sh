# shellcheck shell=bash
# pg_regress and pg_isolation_regress, which make one server for all topics. To be sourced.

# named_topics FILE...: those that TEST names; none if it names the suite or nothing, for all of them.
named_topics() {
    local file name
    for file in "$@"; do
        name=$(basename "${file%.*}")
        [[ " ${TEST:-} " != *" $name "* ]] || printf '%s ' "$name"
    done
}

# run_topics MAKE-ARGUMENT...: writes all files in the test's own directory. $house is the directory of the Makefile.
# Some topics show what was logged since the last checkpoint, so none comes by itself.
run_topics() {
    local status=0 tree=$PWD config=$TEST_DIR/config
    cd "$TEST_DIR" || return
    { cat "$TEMP_CONFIG" && echo "checkpoint_timeout = '1d'"; } >"$config"
    make -s -f "$tree/${house:-.}/Makefile" installcheck HOUSES= "$@" EXTRA_REGRESS_OPTS="--temp-instance=$TEST_DIR/ti --temp-config=$config" ||
        status=$?
    cat regression.diffs output_iso/regression.diffs 2>/dev/null || true
    return "$status"
}

# The topics and specs of $house that TEST names, or all.
run_house() {
    local topics specs
    topics=$(named_topics "$house"/sql/*.sql)
    specs=$(named_topics "$house"/specs/*.spec)
    if [[ -z $topics$specs ]]; then run_topics; else run_topics REGRESS="$topics" ISOLATION="$specs"; fi
}
