# shellcheck shell=bash
# The extension built in another way, in addition to the build of sandbox.sh. To be sourced.

# copy_variant DIRECTORY [TAR-OPTION...]: copies the tree to DIRECTORY/tree, where it can be changed.
copy_variant() {
    local folder=$1
    shift
    mkdir -p "$folder/tree"
    tar "$@" -cf - . | tar -C "$folder/tree" -xf -
}

without_objects=(--exclude='*.o' --exclude='*.bc' --exclude='*.so')

# install_variant DIRECTORY [MAKE-ARGUMENT...]: builds DIRECTORY/tree and installs it into DIRECTORY/inst.
# Servers find it by DIRECTORY/temp.conf.
install_variant() {
    local folder=$1
    shift
    make -s -C "$folder/tree" install DESTDIR="$folder/inst" "$@" >"$folder/build.log" 2>&1 ||
        { cat "$folder/build.log"; return 1; }
    tools/extension_config.sh "$folder/inst" >"$folder/temp.conf"
}

# build_variant DIRECTORY FLAGS [MAKE-ARGUMENT...]: builds the unchanged tree with these flags instead of the
# server's own C++ flags (one of which, -fwrapv, defines the result of an overflow).
build_variant() {
    local folder=$1 flags=$2
    shift 2
    copy_variant "$folder" "${without_objects[@]}"
    install_variant "$folder" with_llvm=no CXXFLAGS="$flags" "$@"
}

# test_variant DIRECTORY TESTS [COMMAND...]: runs these tests with it, by the command if there is one.
test_variant() {
    local folder=$1 tests=$2
    shift 2
    ln -sfn "$SANDBOX/judge" "$folder/judge"
    (cd "$folder/tree" && SANDBOX=$folder TEMP_CONFIG=$folder/temp.conf TEST=$tests "$@" tools/test.sh)
}
