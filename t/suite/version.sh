#!/usr/bin/env bash
# All extensions of this tree have the same version, and their scripts are installed as they are; the SQL of a released
# one is frozen; pages, drawings and messages fit the tree and bench/results.
set -euo pipefail
installed=$SANDBOX/inst$("$PG_CONFIG" --sharedir)/extension
package=$(sed -nE '1s/.*\((.*)-[^-]*\).*/\1/p' packaging/debian/changelog)
for control in *.control contrib/*/*.control; do
    extension=$(basename "${control%.control}")
    version=$(sed -nE "s/^default_version = '(.*)'/\1/p" "$control")
    meta=$(python3 -c 'import json, sys; meta = json.load(open("META.json"))
print(meta["version"], meta["provides"].get(sys.argv[1], {}).get("version"))' "$extension")
    [[ -f ${control%.control}--$version.sql && $meta == "$package $package" && ${package%.*} == "$version" ]] || {
        echo "$control says $version, META.json $meta, packaging/debian/changelog $package, scripts: $(echo "${control%.control}"--*.sql)"
        exit 1
    }
    cmp "${control%.control}--$version.sql" "$installed/$extension--$version.sql"
done
grep -q "library_version = \"$package\"" src/engine/lease.h
grep -q "Version $package:" README.md
echo 'ok versions agree'

# A database that was created with a released script must be what that script creates today: what comes later is in an
# upgrade script. packaging/release/release.sh notes the sums of the scripts.
if [[ -f released.sha256 ]]; then
    (cd "$installed" && sha256sum --quiet -c -) <released.sha256
    echo 'ok released scripts are unchanged'
else
    echo 'ok released scripts are unchanged # skip nothing is released yet'
fi
tools/check/pages.py
echo 'ok pages show what is run'
tools/check/messages.py
echo 'ok messages of the page are raised'
python3 -c 'import sys, xml.dom.minidom as dom; [dom.parse(name) for name in sys.argv[1:]]' docs/*.svg contrib/*/*.svg
echo 'ok drawings are XML'
