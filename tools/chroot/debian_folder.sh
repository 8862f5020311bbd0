# shellcheck shell=bash
# Directories that contain a Debian release with a PostgreSQL and all that `make test` needs, for chroot.sh. To
# be sourced; needs root.

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
    # Not in /tmp: device files are made here, which some machines do not allow there.
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
    # chroot.sh's mounts are invisible here; visible ones are not ours and must not be deleted.
    if grep -q " $work/" /proc/self/mountinfo; then
        echo "not removed, something is mounted in it: $work" >&2
    else
        rm -rf --one-file-system "$work"
    fi
}

# Debian's main archive as configured on this machine, not that of security updates.
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

# This machine's network settings for the mirror. Not all of apt.conf.d: hooks of packages that the directory
# does not have would fail.
copy_network_settings() {
    local folder=$1
    cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
    apt-config dump | grep -E '^Acquire::(Check|Retries|http|https|ftp|ForceIPv|Languages|AllowInsecure)' \
        >"$folder/etc/apt/apt.conf.d/90shardid-matrix" || true
}

# make_folder RELEASE DIRECTORY [PACKAGE]. debootstrap mounts /proc, invisible to others. DEBIAN_PORT names one of
# Debian's ports: its own programs then install the packages, and cannot make devices if they are emulated.
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

# The server of that version and its packages, nothing else of experimental.
add_experimental() {
    local folder=$1 version=$2
    echo "deb $MIRROR experimental main" >"$folder/etc/apt/sources.list.d/experimental.list"
    printf '%s\n' "Package: src:postgresql-$version" 'Pin: release a=experimental' 'Pin-Priority: 900' \
        >"$folder/etc/apt/preferences.d/shardid-matrix"
}

# clean_folder RELEASE BASE DIRECTORY: only the release, of which BASE keeps a copy, and this tree.
clean_folder() {
    local release=$1 base=$2 folder=$3
    make_folder "$release" "$base"
    rm -rf --one-file-system "$folder"
    cp -a "$base" "$folder"
    # No fsync: after a power failure the directory is made again.
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

# prepare RELEASE DIRECTORY PURPOSE...: installs the packages for these purposes; for tests, also an older server for
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

# logged LOG LINES COMMAND...: if the command fails, shows the log's end and sets failed and status (which stays set).
# It must not be called as a condition: there bash ignores set -e, also that of a subshell.
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
