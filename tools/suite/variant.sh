# shellcheck shell=bash
# The extension built another way, beside the one that sandbox.sh has built. To be sourced.

# copy_variant FOLDER [TAR-OPTION...]: copies the tree to FOLDER/tree, where it can be changed.
copy_variant() {
    local folder=$1
    shift
    mkdir -p "$folder/tree"
    tar "$@" -cf - . | tar -C "$folder/tree" -xf -
}

without_objects=(--exclude='*.o' --exclude='*.bc' --exclude='*.so')

# install_variant FOLDER [MAKE-ARGUMENT...]: builds FOLDER/tree and installs it into FOLDER/inst.
# Servers find it by FOLDER/temp.conf.
install_variant() {
    local folder=$1
    shift
    make -s -C "$folder/tree" install DESTDIR="$folder/inst" "$@" >"$folder/build.log" 2>&1 ||
        { cat "$folder/build.log"; return 1; }
    tools/extension_config.sh "$folder/inst" >"$folder/temp.conf"
}

# build_variant FOLDER FLAGS [MAKE-ARGUMENT...]: the tree as it is, with these flags in place of the
# server's own C++ flags (among which -fwrapv defines what overflow does).
build_variant() {
    local folder=$1 flags=$2
    shift 2
    copy_variant "$folder" "${without_objects[@]}"
    install_variant "$folder" with_llvm=no CXXFLAGS="$flags" "$@"
}
