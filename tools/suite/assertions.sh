#!/usr/bin/env bash
# Runs some tests on a server that was built with assertions: assertions.sh PG_CONFIG SETTING TEST... SETTING
# is a line of postgresql.conf, or empty. To be run in a sandbox that has the judge's programs.
set -euo pipefail
# shellcheck source=tools/suite/variant.sh
source tools/suite/variant.sh
PG_CONFIG=$1
PATH=$("$PG_CONFIG" --bindir):$PATH
export PG_CONFIG PATH
[[ $("$PG_CONFIG" --configure) == *--enable-cassert* ]]
setting=$2
shift 2
folder=$SANDBOX/assertions${setting:+-${setting%% *}}

copy_variant "$folder" "${without_objects[@]}"
install_variant "$folder"
echo "$setting" >>"$folder/temp.conf"
ln -s "$SANDBOX/judge" "$folder/judge"
cd "$folder/tree"
SANDBOX=$folder TEMP_CONFIG=$folder/temp.conf FULL='' TEST="$*" tools/test.sh
