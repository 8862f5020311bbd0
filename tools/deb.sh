#!/usr/bin/env bash
# Makes Debian packages for the PostgreSQL of each Debian release, each in a folder that holds the release and
# what the build needs; then installs them in another, without a compiler, makes an id, and runs the packages' own
# test; then does in others what the Dockerfile of docs/install.md says. The packages go to
# deb/RELEASE. RELEASES, CACHE and MIRROR are as for make matrix, see tools/matrix.sh.
# Needs root: debootstrap and chroot do.
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

# What stands in for the official image is Debian with Debian's own server.
run_dockerfile() {
    local release=$1 version=${version_in[$1]} folder=$work/image
    clean_folder "$release" "$(base_of "$release")" "$folder"
    tools/chroot.sh in_folder "$folder" tools/deb/image_server.sh "$version"
    rm -rf --one-file-system "$folder-build"
    cp -a "$folder" "$folder-build"
    tools/page_block.sh docs/install.md image | tools/deb/image.sh "$version" "$folder-build" "$folder"
    tools/chroot.sh in_folder "$folder" tools/deb/image_check.sh "$version"
}

status=0
lines=()
for release in ${RELEASES:-bookworm trixie sid experimental}; do
    since=$SECONDS
    result=ok
    for step in build_in install_in run_dockerfile; do
        logged "$work/log" 100 "$step" "$release"
        [[ $failed == 0 ]] || { result="FAILED, $step"; break; }
        sed -nE "s/^(installcheck +[A-Z].*)/autopkgtest in $release: \1/p" "$work/log"
    done
    lines+=("packages for PostgreSQL ${version_in[$release]} ($release): $result, $(((SECONDS - since + 30) / 60)) min")
    echo "${lines[-1]}"
done
exit "$status"
