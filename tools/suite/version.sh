#!/usr/bin/env bash
# All extensions of this tree have the same version; the SQL of a released one is frozen; pages, drawings and messages fit
# the tree and bench/results.
set -euo pipefail
package=$(sed -nE '1s/.*\((.*)-[^-]*\).*/\1/p' debian/changelog)
for control in *.control; do
    extension=${control%.control}
    version=$(sed -nE "s/^default_version = '(.*)'/\1/p" "$control")
    meta=$(python3 -c 'import json, sys; meta = json.load(open("META.json"))
print(meta["version"], meta["provides"].get(sys.argv[1], {}).get("version"))' "$extension")
    [[ -f $extension--$version.sql && $meta == "$package $package" && ${package%.*} == "$version" ]] || {
        echo "$control says $version, META.json $meta, debian/changelog $package, scripts: $(echo "$extension"--*.sql)"
        exit 1
    }
done
echo 'ok versions agree'

# A database that was created with the released script must be what the script of today creates: what comes later is in
# an upgrade script. The script is built from several files.
built_script() {
    local folder=$1 version=$2
    make -s -C "$folder" "$folder/built/shardid--$version.sql" >&2
    cat "$folder/built/shardid--$version.sql" "$folder/shardid_lease--$version.sql"
}
version=${package%.*}
if git rev-parse -q --verify "v$version.0" >/dev/null 2>&1; then
    released=$(mktemp -d)
    git archive "v$version.0" | tar -x -C "$released"
    cmp <(built_script "$released" "$version") <(built_script "$PWD" "$version")
    rm -r "$released"
    echo "ok the scripts of $version are those that were released"
else
    echo "ok the scripts are those that were released # skip $version is not released yet"
fi
tools/check/pages.py
echo 'ok pages show what is run'
tools/check/messages.py
echo 'ok each message has its remedy'
python3 -c 'import sys, xml.dom.minidom as dom; [dom.parse(name) for name in sys.argv[1:]]' docs/*.svg
echo 'ok drawings are XML'
