#!/usr/bin/env bash
# All extensions of this tree have the same version; pages, charts and messages fit the tree and bench/results.
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
bench/chart.py --check bench/results/bench.md bench/results/index.md
echo 'ok charts show the results'
