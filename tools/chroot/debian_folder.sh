# shellcheck shell=bash
# Folders that hold a Debian release with a PostgreSQL and all that `make test` needs, for chroot.sh. To be
# sourced; needs root.

# Experimental is no release of its own: it adds to sid.
declare -A version_in=([bookworm]=15 [trixie]=17 [sid]=18 [experimental]=19)

# as_root SETTING,... SCRIPT [ARGUMENT...]: unless this is root, begins again by sudo, which keeps these settings.
as_root() {
    [[ $(id -u) != 0 ]] || return 0
    command -v sudo >/dev/null || { echo "$2 needs root or sudo, for debootstrap and chroot" >&2; exit 1; }
    exec sudo --preserve-env="$1,CACHE,MIRROR" "${@:2}"
}

# The folder $work, which is gone when the command ends; $folders, where releases are kept; and MIRROR.
make_work() {
    # Not /tmp: device files are made there, which some machines do not allow.
    work=$(mktemp -d /var/tmp/shardid-matrix.XXXXXX)
    trap remove_work EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # shellcheck disable=SC2034 # the caller's
    folders=${CACHE:-$work}
    find_mirror
}

# shellcheck disable=SC2317,SC2329 # called by a trap
remove_work() {
    # chroot.sh's mounts are not seen here; what is, is not ours to lose.
    if grep -q " $work/" /proc/self/mountinfo; then
        echo "not removed, something is mounted in it: $work" >&2
    else
        rm -rf --one-file-system "$work"
    fi
}

# Debian's own archive as apt on this machine knows it, not that of its security updates.
debian_mirror() {
    # shellcheck disable=SC2016 # expanded by apt
    apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
        sed -n 's/ Debian Debian$//p' | sort -u | head -n 1
}

find_mirror() {
    MIRROR=${MIRROR:-$(debian_mirror)}
    if [[ -z $MIRROR ]]; then
        apt-get update -q
        MIRROR=$(debian_mirror)
    fi
    [[ -n $MIRROR ]] || { echo 'apt knows no mirror of Debian: set MIRROR' >&2; exit 1; }
    export MIRROR
}

# How this machine reaches the mirror. Not the whole of apt.conf.d: the hooks of packages that the folder
# has not would fail there.
copy_network_settings() {
    local folder=$1
    cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
    apt-config dump | grep -E '^Acquire::(Check|Retries|http|https|ftp|ForceIPv|Languages|AllowInsecure)' \
        >"$folder/etc/apt/apt.conf.d/90shardid-matrix" || true
}

# debootstrap mounts /proc for itself, here where nobody else sees it. make_folder RELEASE FOLDER [PACKAGE]
# DEBIAN_PORT names one of Debian's ports. Its own programs then install the packages; where they are emulated, they can
# make no devices.
make_folder() {
    local release=${1/experimental/sid} folder=$2 package=${3-}
    [[ ! -d $folder ]] || return 0
    mkdir -p "${folder%/*}"
    rm -rf --one-file-system "$folder.new"
    unshare --mount debootstrap --variant=minbase ${DEBIAN_PORT:+--arch="$DEBIAN_PORT" --foreign} \
        ${package:+--include="$package"} "$release" "$folder.new" "$MIRROR"
    if [[ -n ${DEBIAN_PORT:-} ]]; then
        mkdir "$folder.new/shardid"
        cp -a /dev/{null,zero,full,random,urandom,tty,console,ptmx} "$folder.new/dev/"
        tools/chroot/chroot.sh "$folder.new" env container=lxc /debootstrap/debootstrap --second-stage
    fi
    mv "$folder.new" "$folder"
}

# The server of that version and what belongs to it, nothing else of experimental.
add_experimental() {
    local folder=$1 version=$2
    echo "deb $MIRROR experimental main" >"$folder/etc/apt/sources.list.d/experimental.list"
    printf '%s\n' "Package: src:postgresql-$version" 'Pin: release a=experimental' 'Pin-Priority: 900' \
        >"$folder/etc/apt/preferences.d/shardid-matrix"
}

# clean_folder RELEASE BASE FOLDER: no more than the release, of which BASE keeps a copy, and this tree.
clean_folder() {
    local release=$1 base=$2 folder=$3
    make_folder "$release" "$base"
    rm -rf --one-file-system "$folder"
    cp -a "$base" "$folder"
    # What a power failure would lose is made again.
    echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/shardid"
    copy_network_settings "$folder"
    [[ $release != experimental ]] || add_experimental "$folder" "${version_in[$release]}"
    copy_tree "$folder"
}

copy_tree() {
    local folder=$1
    rm -rf "$folder/shardid"
    mkdir "$folder/shardid"
    tar --exclude=./.git --exclude=./deb --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . |
        tar -C "$folder/shardid" --no-same-owner -xf -
}

# prepare RELEASE FOLDER PURPOSE...: with the packages for these purposes; for tests, with an older server for
# pg_upgrade.
prepare() {
    local release=$1 folder=$2 version=${version_in[$1]}
    shift 2
    make_folder "$release" "$folder" make
    copy_network_settings "$folder"
    [[ $release != experimental ]] || add_experimental "$folder" "$version"
    copy_tree "$folder"
    POSTGRESQL_VERSION=$version tools/chroot/chroot.sh "$folder" tools/install-packages.sh "$@"
    [[ $version -le 15 || " $* " != *" test "* ]] || tools/chroot/chroot.sh "$folder" tools/chroot/old-server.sh
}

# logged LOG LINES COMMAND...: shows the log's end, sets failed and, for good, status, if the command fails. Not to be
# called as a condition, where bash takes no notice of set -e, nor of a subshell's own.
logged() {
    local log=$1 lines=$2
    shift 2
    set +e
    (set -e; "$@") >"$log" 2>&1 </dev/null
    failed=$?
    set -e
    if [[ $failed != 0 ]]; then
        tail -n "$lines" "$log"
        # shellcheck disable=SC2034 # the caller's
        status=1
    fi
}
