#!/usr/bin/env bash
# Prints the settings by which a server finds the extension in the folder that it was installed into
# by make install DESTDIR=FOLDER: a patch of Debian's up to 17, a setting of PostgreSQL's own from 18
# on.
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
