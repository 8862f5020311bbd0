#!/usr/bin/env bash
# Builds the deliberately broken extension test/mutants/NAME.patch: build_mutant.sh NAME FOLDER. FOLDER/tree is
# its source and FOLDER/temp.conf the settings by which a server finds it.
set -euo pipefail
# shellcheck source=tools/suite/variant.sh
source tools/suite/variant.sh
name=$1 folder=$2

# With what was built, of which a change of one file leaves the rest as it is.
copy_variant "$folder"
patch -s -p1 -d "$folder/tree" <"test/mutants/$name.patch"
# What the compiler would refuse, the tests have to see as well.
if grep -q '^+++ b/src/core/' "test/mutants/$name.patch"; then
    perl -0pi -e 's/^static_assert\(.*?\);\n//msg' "$folder/tree"/src/core/*.hpp
fi
install_variant "$folder" with_llvm=no COPT=-O0 -j "$(nproc)"
