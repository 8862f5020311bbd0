#!/usr/bin/env bash
# Builds the deliberately broken extension test/mutants/NAME.patch: build_mutant.sh NAME DIRECTORY. DIRECTORY/tree has
# its source, and DIRECTORY/temp.conf the settings by which a server finds it.
set -euo pipefail
# shellcheck source=tools/suite/variant.sh
source tools/suite/variant.sh
name=$1 folder=$2

# Copies the build, too, so that only changed files are compiled.
copy_variant "$folder"
patch -s -p1 -d "$folder/tree" <"test/mutants/$name.patch"
# Removes static assertions: the tests must detect the mutant, not the compiler.
if grep -q '^+++ b/src/core/' "test/mutants/$name.patch"; then
    perl -0pi -e 's/^static_assert\(.*?\);\n//msg' "$folder/tree"/src/core/*.hpp
fi
install_variant "$folder" with_llvm=no COPT=-O0 -j "$(nproc)"
