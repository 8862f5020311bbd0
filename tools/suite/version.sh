#!/usr/bin/env bash
# All extensions of this tree have the same version; pages, drawings and messages fit the tree and bench/results.
set -euo pipefail
package=$(sed -nE '1s/.*\((.*)-[^-]*\).*/\1/p' debian/changelog)
for control in *.control; do
    extension=${control%.control}
    version=$(sed -nE "s/^default_version = '(.*)'/\1/p" "$control")
    meta=$(python3 -c 'import json, sys; meta = json.load(open("META.json"))
print(meta["version"], meta["provides"].get(sys.argv[1], {}).get("version"))' "$extension")
    [[ -f $extension--$version.sql && $meta == "$version.0 $version.0" && $package == "$version" ]] || {
        echo "$control says $version, META.json $meta, debian/changelog $package, scripts: $(echo "$extension"--*.sql)"
        exit 1
    }
done
echo 'ok versions agree'
tools/check/pages.py
echo 'ok pages show what is run'
tools/check/messages.py
echo 'ok each message has its remedy'
python3 -c 'import sys, xml.dom.minidom as dom; [dom.parse(name) for name in sys.argv[1:]]' docs/*.svg
echo 'ok drawings are XML'
