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
else
    echo "extension_destdir = '$folder'"
fi
