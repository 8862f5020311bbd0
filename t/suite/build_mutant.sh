#!/usr/bin/env bash
# Builds the extension that a patch of proof/mutants breaks: build_mutant.sh PATCH DIRECTORY. DIRECTORY/tree has its
# source, and DIRECTORY/temp.conf the settings by which a server finds it.
set -euo pipefail
# shellcheck source=t/suite/variant.sh
source t/suite/variant.sh
patch=$1 folder=$2

# Copies the build, too, so that only changed files are compiled.
copy_variant "$folder"
patch -s -p1 -d "$folder/tree" <"$patch"
# Removes static assertions: the tests must detect the mutant, not the compiler.
if grep -q '^+++ b/src/core/' "$patch"; then
    perl -0pi -e 's/^static_assert\(.*?\);\n//msg' "$folder/tree"/src/core/*.hpp
fi
install_variant "$folder" with_llvm=no COPT=-O0
