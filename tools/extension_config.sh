#!/usr/bin/env bash
# Prints the settings by which a server finds the extension in the directory of make install
# DESTDIR=DIRECTORY: up to 17 by a patch of Debian's, from 18 on by a setting of PostgreSQL.
set -euo pipefail
folder=$1
pg_config=${PG_CONFIG:-pg_config}
version=$("$pg_config" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')

echo "dynamic_library_path = '$folder$("$pg_config" --pkglibdir):\$libdir'"
if ((version >= 18)); then
    echo "extension_control_path = '$folder$("$pg_config" --sharedir):\$system'"
elif grep -q extension_destdir "$("$pg_config" --bindir)/postgres"; then
    echo "extension_destdir = '$folder'"
else
    echo "The tests need a server that finds an extension outside its own directory: PostgreSQL 18 or later, or one" \
        "of Debian's packages or sources. PG_CONFIG is $pg_config of PostgreSQL $version." >&2
    exit 1
fi
