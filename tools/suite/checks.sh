# shellcheck shell=bash
# Checks of the tree that need no server, each a step of test.sh. To be sourced.

# All extensions of this tree have the same version.
versions_agree() {
    local control extension version meta package
    package=$(sed -nE '1s/.*\((.*)-[^-]*\).*/\1/p' debian/changelog)
    for control in *.control; do
        extension=${control%.control}
        version=$(sed -nE "s/^default_version = '(.*)'/\1/p" "$control")
        meta=$(python3 -c 'import json, sys; meta = json.load(open("META.json"))
print(meta["version"], meta["provides"].get(sys.argv[1], {}).get("version"))' "$extension")
        [[ -f $extension--$version.sql && $meta == "$version.0 $version.0" && $package == "$version" ]] || {
            echo "$control says $version, META.json $meta, debian/changelog $package, scripts: $(echo "$extension"--*.sql)"
            return 1
        }
    done
}

meta_is_valid() {
    python3 tools/check/meta.py META.json
}

# Scripts that CREATE EXTENSION runs as superuser find no planted objects.
scripts_name_schemas() {
    tools/check/scripts.py --itself && tools/check/scripts.py
}

drawings_are_xml() {
    python3 -c 'import sys, xml.dom.minidom as dom; [dom.parse(name) for name in sys.argv[1:]]' docs/*.svg
}

# Only here warnings are errors: a user's newer compiler may have more of them. sandbox.sh has built it by g++.
builds_without_warnings() {
    [[ -e $SANDBOX/build.log ]] && ! grep -A5 'warning:' "$SANDBOX/build.log" && compiles_with g++ test/unit/*_proof.cpp
}

# compiles_with COMPILER [FLAG...] SOURCE...
compiles_with() {
    local compiler=$1
    shift
    "$compiler" -std=c++20 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fsyntax-only -Wall -Wextra -Werror -Isrc \
        -isystem "$("$PG_CONFIG" --includedir-server)" -isystem "$("$PG_CONFIG" --includedir)" "$@"
}

# The C functions that the SQL scripts name.
entry_points() {
    sed -nE "s/.*'MODULE_PATHNAME', '([a-z0-9_]+)'.*/\1/p" shardid--*.sql shardid_lease--*.sql
}

# Symbols that the library imports must be in the server or libc, not in libstdc++. Symbols that it exports with
# C names are called by SQL, or by PostgreSQL when it loads the library and starts the worker.
symbols_are_clean() {
    local library stray
    library=$(find "$SANDBOX/inst" -name shardid.so)
    stray=$(nm -D -u "$library" | grep -E ' (_Z|__cxa_)' | grep -v ' w __cxa_finalize')
    [[ -z $stray ]] || { echo "$stray"; return 1; }
    # Only the lease worker uses libpq.
    ! readelf -d "$library" | grep NEEDED | grep libpq || return 1
    stray=$(nm -D -u "$(dirname "$library")/shardid_libpq.so" | grep -E ' (_Z|__cxa_)' | grep -v ' w __cxa_finalize')
    [[ -z $stray ]] || { echo "$stray"; return 1; }
    diff <(nm -D --defined-only "$library" | awk '$3 !~ /^_Z/ { print $3 }' | sort) \
        <({ entry_points; entry_points | sed 's/^/pg_finfo_/'
            printf '%s\n' Pg_magic_func _PG_init shardid_lease_worker; } | sort -u)
}

# Each pure header compiles alone, without PostgreSQL's headers.
headers_are_pure() {
    local header
    for header in src/core/*.hpp; do
        echo "#include \"$header\"" |
            g++ -std=c++20 -Wall -Wextra -Werror -I. -Isrc -x c++ -fsyntax-only - || return 1
    done
}

# Compilers for 32 bits have no 128-bit integers, which test/unit/invariants.hpp needs.
has_wide_integers() {
    echo __SIZEOF_INT128__ | "$1" -E -P - | grep -qx 16
}

brute_force() {
    g++ -std=c++20 -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover=all \
        -Isrc test/unit/brute_force.cpp -o "$SANDBOX/brute_force" && "$SANDBOX/brute_force"
}

is_formatted() {
    clang-format --dry-run -Werror src/*.{h,cpp} src/core/*.hpp src/{engine,functions,lease}/*.{h,cpp} test/*/*.{hpp,cpp}
}

# No file of src includes a header in vain. Releases before 17 do not have the check; what else it finds,
# that a name comes by way of another header, is fine here.
includes_are_used() {
    local check=(clang-tidy --quiet '--checks=-*,misc-include-cleaner')
    "${check[@]}" --list-checks 2>/dev/null | grep -q include-cleaner || return 0
    ! "${check[@]}" --warnings-as-errors= src/*.cpp src/*/*.cpp -- -std=c++20 -fno-exceptions -fno-rtti -Isrc -DUSE_ASSERT_CHECKING \
        -isystem "$("$PG_CONFIG" --includedir-server)" -isystem "$("$PG_CONFIG" --includedir)" -Wno-deprecated-volatile \
        2>/dev/null | grep 'is not used directly'
}

# .clang-tidy is the configuration, with its reasons. Without the analysis of nested calls it takes half the time.
is_tidy() {
    local depth=shallow
    [[ -z ${FULL:-} ]] || depth=deep
    includes_are_used && clang-tidy --quiet src/*.cpp src/*/*.cpp test/*/*.cpp -- -std=c++20 -fno-exceptions -fno-rtti -Isrc \
        -isystem "$("$PG_CONFIG" --includedir-server)" -isystem "$("$PG_CONFIG" --includedir)" -Wno-deprecated-volatile \
        -Xclang -analyzer-config -Xclang "mode=$depth"
}

shell_is_clean() {
    shellcheck -x tools/*.sh tools/*/*.sh bench/*.sh portable/*.sh test/model/*.sh examples/*.sh examples/*/*.sh .ci/run
}

# The workflows are valid YAML, and run only commands that a contributor can run.
workflows_are_plain() {
    local workflows=(.github/workflows/*.yml)
    # shellcheck disable=SC2016 # the workflows' own ${{ }}
    yamllint -d '{extends: relaxed, rules: {line-length: {max: 120}}}' --strict "${workflows[@]}" &&
        tools/page_block.sh docs/install.md cluster | yamllint -d relaxed --strict - &&
        ! sed -nE 's/^ *-? *run: *//p' "${workflows[@]}" |
            grep -vE '^(apt-get update && apt-get install [a-z -]*make|make [a-z-]+( RELEASES=[a-z${{}}. ]+)?)$'
}
