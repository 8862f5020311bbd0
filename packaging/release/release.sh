#!/usr/bin/env bash
# Makes everything of a release but what only a person can do: release.sh VERSION HOME_URL MAIL. In a clone of the last
# commit it sets version, date, home and the address for mail, commits that, builds into dist/ the zip for PGXN, the
# source tarball, the RPM spec, the SQL-only extension, a bill of materials and checksums, and tests what it has built
# (TEST= omits that). This tree stays as it is. At the end it prints the commands that are left, in their order.
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly placeholder=https://shardid.example
version=${1:-} home=${2:-} mail=${3:-}
home=${home%/}
if [[ ! $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ || ! $home =~ ^https://[^/]+/.+$ || ! $mail =~ ^[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$ ]]; then
    echo 'usage: packaging/release/release.sh VERSION HOME_URL MAIL, as in packaging/release/release.sh 1.0.0 https://git.host/group/shardid maintainers@lists.host' >&2
    exit 2
fi
if [[ -n $(git status --porcelain) ]]; then
    echo 'commit or stash your changes first' >&2
    exit 1
fi
tools/install-packages.sh --quiet build release
sql_version=${version%.*}
date=$(date -u +%Y-%m-%d)
dist=$PWD/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/shardid-$version

# The one place of the home is META.json; all other files have the same placeholder.
set_home() {
    git grep -lF shardid.example -- . ':!packaging/release/release.sh' | while read -r file; do
        sed -i "s#$placeholder/shardid\.git#$home.git#g; s#$placeholder/shardid#$home#g; s#$placeholder/issues#$home/issues#g; s#$placeholder/\?#$home#g; s#developers@shardid\.example#$mail#g" "$file"
    done
}

set_version() {
    sed -i "/meta-spec/,\$ ! s/\"version\": \"[0-9.]*\"/\"version\": \"$version\"/; s/--[0-9.]*\.sql\"/--$sql_version.sql\"/" META.json
    sed -i "s/^default_version = .*/default_version = '$sql_version'/" shardid.control contrib/*/*.control
    sed -i "s/library_version = \"[0-9.]*\"/library_version = \"$version\"/" src/engine/lease.h
    sed -i "s/^## .* (unreleased)$/## $version ($date)/" CHANGELOG.md
    sed -i "1s/.*/shardid ($version-1) unstable; urgency=medium/; s/^ -- \(.*>\)  .*/ -- \1  $(date -uR)/" packaging/debian/changelog
    sed -i "s/^Version: .*/Version:        $version/; s/^\* .* - [0-9].*/* $(LC_ALL=C date -u '+%a %b %d %Y') the shardid developers <$mail> - $version-1PGDG/" packaging/rpm/shardid.spec
    sed -i "s/version=[0-9.]* comment/version=$version comment/" contrib/portable/pg_tle.sh
    sed -i "s/\"[0-9.]*-1\.pgdg/\"$version-1.pgdg/; s/sql     = \"[0-9.]*\"/sql     = \"$sql_version\"/" packaging/cnpg/metadata.hcl
    sed -i "s/shardid:[0-9.]*-18/shardid:$version-18/" packaging/cnpg/README.md
    sed -i "s/shardid-[0-9.]*\.zip/shardid-$version.zip/" docs/install.md
    sed -i "s/Version [0-9.]*:/Version $version:/" README.md
}

# What is in the source: no library is linked but PostgreSQL's own and libpq. CycloneDX's library validates it by the
# official schema; it would write it in no fewer lines.
write_bill_of_materials() {
    python3 - "$version" "$home" >"$dist/shardid-$version.cdx.json" <<'PY'
import json, sys, uuid
version, home = sys.argv[1:]
component = {"type": "library", "name": "shardid", "version": version, "licenses": [{"license": {"id": "PostgreSQL"}}],
             "purl": f"pkg:generic/shardid@{version}", "bom-ref": "shardid",
             "externalReferences": [{"type": "vcs", "url": home}]}
needs = [{"type": "application", "name": "postgresql", "version": "15 to 19", "bom-ref": "postgresql"},
         {"type": "library", "name": "libpq", "bom-ref": "libpq"}]
print(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
                  "serialNumber": "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, f"{home}@{version}")),
                  "metadata": {"component": component}, "components": needs,
                  "dependencies": [{"ref": "shardid", "dependsOn": ["postgresql", "libpq"]}]}, indent=2))
PY
    npm install --silent --no-audit --no-fund --prefix "$work/npm" \
        @cyclonedx/cyclonedx-library@10 ajv@8 ajv-formats@3 ajv-formats-draft2019@1
    NODE_PATH=$work/npm/node_modules node -e '
const { Spec, Validation } = require("@cyclonedx/cyclonedx-library");
new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(require("fs").readFileSync(0, "utf8"))
    .then(error => { if (error) throw new Error(JSON.stringify(error)); });' <"$dist/shardid-$version.cdx.json"
}

git clone --quiet . "$tree"
rm -rf "$dist"
mkdir "$dist"
cd "$tree"
set_version
set_home
mkdir "$work/scripts"
cp shardid--*.sql contrib/*/*--*.sql "$work/scripts/"
(cd "$work/scripts" && sha256sum -- *.sql) >released.sha256
git add released.sha256
git -c user.name='shardid developers' -c user.email="$mail" commit --quiet -am "Release $version"
git format-patch --quiet --stdout HEAD~1 >"$dist/release-$version.patch"

export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
packaging/release/dist.py "$dist"
git archive --prefix="shardid-$version/" HEAD | gzip -n >"$dist/shardid-$version.tar.gz"
contrib/portable/pg_tle.sh "$dist/shardid_portable"
cp packaging/rpm/shardid.spec "$dist/"
write_bill_of_materials
if [[ -n ${TEST-unset} ]]; then
    mkdir "$work/unpacked"
    tar -xzf "$dist/shardid-$version.tar.gz" -C "$work/unpacked"
    make -C "$work/unpacked/shardid-$version" test
fi
(cd "$dist" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum) >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" "$dist/"

cat <<END

dist/ is ready. What is left, in this order (packaging/release/README.md says more):
  git am dist/release-$version.patch
  make deb                                    # before the tag, which is never moved
  git tag -s v$version -m 'shardid $version'
  gpg --detach-sign --armor dist/SHA256SUMS
  git push $home.git main v$version
  attach the files of dist/ to the tag
  upload dist/shardid-$version.zip at PGXN's manager
  mail the .dsc in deb/ to a sponsor, and the tag to pgsql-pkg-debian@lists.postgresql.org
  send dist/shardid.spec to pgsql-pkg-yum@lists.postgresql.org
  dbdev publish --path dist/shardid_portable
  open a pull request with packaging/cnpg once PGDG has the Debian package
  mail pgsql-announce@lists.postgresql.org with the part of CHANGELOG.md
END
