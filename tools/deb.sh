#!/usr/bin/env bash
# Makes Debian packages for the PostgreSQL of each Debian release, each in a directory that contains the release and what the
# build needs. Then installs them in another, without a compiler, generates an id, and runs their own test by autopkgtest. Then
# does in others what the Dockerfiles of docs/install.md and packaging/cnpg say. The packages go to deb/RELEASE. RELEASES, CACHE
# and MIRROR are as for make matrix, see tools/matrix.sh. Needs root: debootstrap and chroot do.
# shellcheck disable=SC2317,SC2329 # functions are called by logged
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/chroot.sh
source tools/chroot.sh
as_root RELEASES tools/deb.sh
make_work

base_of() {
    echo "$folders/base-${1/experimental/sid}"
}

build_in() {
    local release=$1 folder=$work/build
    clean_folder "$release" "$(base_of "$release")" "$folder"
    tools/chroot.sh in_folder "$folder" tools/deb/build.sh "${version_in[$release]}"
    rm -rf "deb/$release"
    mkdir -p "deb/$release"
    cp "$folder"/packages/* "deb/$release/"
    chown -R --reference=. deb
}

install_in() {
    local release=$1 folder=$work/install
    clean_folder "$release" "$(base_of "$release")" "$folder"
    mkdir "$folder/shardid/deb"
    cp -a "deb/$release" "$folder/shardid/deb/"
    tools/chroot.sh in_folder "$folder" tools/deb/install.sh "$release" "${version_in[$release]}"
}

# Instead of the official image: Debian with its own server. There are two, to build in and to run in.
make_images() {
    local release=$1 folder=$work/image
    clean_folder "$release" "$(base_of "$release")" "$folder"
    tools/chroot.sh in_folder "$folder" bash -ec "source tools/deb/installed.sh; install_server ${version_in[$release]}"
    rm -rf --one-file-system "$folder-build"
    cp -a "$folder" "$folder-build"
}

run_dockerfile() {
    local version=${version_in[$1]} folder=$work/image
    make_images "$1"
    tools/page_block.sh docs/install.md image | tools/deb/image.sh "$version" "$folder-build" "$folder"
    tools/chroot.sh in_folder "$folder" tools/deb/image_check.sh "$version"
}

# The image of packaging/cnpg, where the operator mounts it. PostgreSQL 17 finds no extension there.
run_extension_image() {
    local release=$1 version=${version_in[$1]} folder=$work/image packages
    ((version >= 18)) || return 0
    make_images "$release"
    packages=("deb/$release/postgresql-$version-shardid"_*.deb)
    tools/deb/repository.sh "$folder-build" "${packages[@]}"
    EXT_VERSION=$(dpkg-deb -f "${packages[0]}" Version) tools/deb/image.sh "$version" "$folder-build" \
        "$folder/extensions/shardid" <packaging/cnpg/Dockerfile
    tools/chroot.sh in_folder "$folder" tools/deb/image_check.sh "$version"
}

declare -A said=([build_in]='builds the packages: minutes' [install_in]='installs them elsewhere, and tests them'
    [run_dockerfile]='does what the Dockerfile says' [run_extension_image]="does what that of CloudNativePG says")
status=0
lines=()
for release in ${RELEASES:-bookworm trixie sid experimental}; do
    since=$SECONDS
    result=ok
    for step in build_in install_in run_dockerfile run_extension_image; do
        echo "$(date +%H:%M) $release, ${said[$step]}"
        logged "$work/log" 100 "$step" "$release"
        [[ $failed == 0 ]] || { result="FAILED, $step"; break; }
        sed -nE "s/^(installcheck +[A-Z].*)/autopkgtest in $release: \1/p" "$work/log" | sort -u
    done
    lines+=("packages for PostgreSQL ${version_in[$release]} ($release): $result, $(((SECONDS - since + 30) / 60)) min")
    echo "${lines[-1]}"
done
exit "$status"
