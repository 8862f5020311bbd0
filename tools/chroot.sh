#!/usr/bin/env bash
# Directories that contain a Debian release with a PostgreSQL and what a command needs, for make matrix, platforms, deb
# and bench. To be sourced, or run: chroot.sh FUNCTION ARGUMENT... Needs root.

# Experimental is no release of its own: it adds to sid.
declare -A version_in=([bookworm]=15 [trixie]=17 [sid]=18 [experimental]=19)

# as_root SETTING,... SCRIPT [ARGUMENT...]: unless this is root, begins again by sudo, which keeps these settings.
as_root() {
    [[ $(id -u) != 0 ]] || return 0
    command -v sudo >/dev/null || { echo "$2 needs root or sudo, for debootstrap and chroot" >&2; exit 1; }
    exec sudo --preserve-env="$1,CACHE,MIRROR" "${@:2}"
}

# The directory $work, which is gone when the command ends; $folders, where releases are kept; and MIRROR.
make_work() {
    unshare --mount true || { echo 'needs mounts of its own: in a container, CAP_SYS_ADMIN (docker run --privileged)' >&2; exit 1; }
    # Not in /tmp: device files are made here, which some machines do not allow there.
    work=$(mktemp -d /var/tmp/shardid-matrix.XXXXXX)
    trap remove_work EXIT
    trap 'trap : INT TERM; exit 130' INT
    trap 'trap : INT TERM; exit 143' TERM
    # shellcheck disable=SC2034 # the caller's
    folders=${CACHE:-$work}
    [[ -n ${MIRROR:-} ]] || MIRROR=$(debian_mirror)
    [[ -n $MIRROR ]] || { apt-get update -q && MIRROR=$(debian_mirror); }
    [[ -n $MIRROR ]] || { echo 'apt knows no mirror of Debian: set MIRROR' >&2; exit 1; }
    export MIRROR
}

# The mounts of in_folder are invisible here; visible ones are not ours and must not be deleted.
# shellcheck disable=SC2317,SC2329 # called by a trap
remove_work() {
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

# This machine's network settings, and the newest server from experimental, nothing else of it. Not all of apt.conf.d:
# hooks of packages that the directory does not have would fail.
configure_apt() {
    local release=$1 folder=$2
    cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
    apt-config dump | grep -E '^Acquire::(Check|Retries|http|https|ftp|ForceIPv|Languages|AllowInsecure)' \
        >"$folder/etc/apt/apt.conf.d/90shardid-matrix" || true
    [[ $release == experimental ]] || return 0
    echo "deb $MIRROR experimental main" >"$folder/etc/apt/sources.list.d/experimental.list"
    printf '%s\n' "Package: src:postgresql-${version_in[$release]}" 'Pin: release a=experimental' 'Pin-Priority: 900' \
        >"$folder/etc/apt/preferences.d/shardid-matrix"
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
        tools/chroot.sh in_folder "$folder.new" env container=lxc /debootstrap/debootstrap --second-stage
    fi
    mv "$folder.new" "$folder"
}

# clean_folder RELEASE BASE DIRECTORY: only the release, of which BASE keeps a copy, and this tree.
clean_folder() {
    local release=$1 base=$2 folder=$3
    make_folder "$release" "$base"
    rm -rf --one-file-system "$folder"
    cp -a "$base" "$folder"
    # No fsync: after a power failure the directory is made again.
    echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/shardid"
    configure_apt "$release" "$folder"
    copy_tree "$folder"
}

copy_tree() {
    local folder=$1
    rm -rf "$folder/shardid"
    mkdir "$folder/shardid"
    tar --exclude=./.git --exclude=./deb --exclude=./failed --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . |
        tar -C "$folder/shardid" --no-same-owner -xf -
}

# prepare RELEASE DIRECTORY PURPOSE...: installs the packages for these purposes; for tests, also an older server for
# pg_upgrade.
prepare() {
    local release=$1 folder=$2 version=${version_in[$1]}
    shift 2
    make_folder "$release" "$folder" make
    configure_apt "$release" "$folder"
    copy_tree "$folder"
    POSTGRESQL_VERSION=$version tools/chroot.sh in_folder "$folder" tools/install-packages.sh "$@"
    [[ $version -le 15 || " $* " != *" test "* ]] || tools/chroot.sh in_folder "$folder" tools/chroot.sh old_server
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

# in_folder DIRECTORY COMMAND...: runs it as root in the directory, in its copy of this tree, /shardid. Mounts and
# processes are in namespaces of the command: invisible to others, and they end with it. qemu-user-static runs programs
# of processors that this machine does not have.
in_folder() {
    local run=(enter)
    chroot "$1" /bin/true 2>/dev/null || { make_users && run=(enter_emulated nsenter --user --target "$users"); }
    exec "${run[@]:1}" unshare --mount --pid --fork --kill-child -- "$0" "${run[0]}" "$@"
}

# A user namespace in which the emulator of another processor is registered, for it alone. All users are in it, with
# their own numbers. It lasts as long as this script and its successor, which hold the pipe.
make_users() {
    exec 9> >(exec unshare --user -- cat)
    users=$!
    until [[ $(readlink "/proc/$users/ns/user") != "$(readlink /proc/self/ns/user)" ]]; do sleep 0.01; done
    echo 0 0 4294967295 | tee "/proc/$users/uid_map" >"/proc/$users/gid_map"
}

enter_emulated() {
    local format
    mount -t proc proc "$1/proc"
    mount -t binfmt_misc binfmt_misc "$1/proc/sys/fs/binfmt_misc"
    for format in /usr/lib/binfmt.d/qemu-*.conf; do
        grep '^:' "$format" >"$1/proc/sys/fs/binfmt_misc/register"
    done
    enter "$@"
}

# Bash stays, to reap the processes that killed servers leave. The first process of a namespace receives only signals
# that it catches.
enter() {
    local folder=$1 name kept=()
    shift
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mountpoint -q "$folder/proc" || mount -t proc proc "$folder/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm"
    for name in MIRROR TEST FULL ROUNDS ROWS SECONDS_EACH PG UPGRADE_FROM POSTGRESQL_VERSION ASAN_OPTIONS; do
        kept+=("$name=${!name:-}")
    done
    # shellcheck disable=SC2016 # expanded inside
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        PG_TEST_TIMEOUT_DEFAULT="${PG_TEST_TIMEOUT_DEFAULT:-1800}" PGCTLTIMEOUT="${PGCTLTIMEOUT:-1800}" \
        PG_CONFIG="${PG_CONFIG:-pg_config}" "${kept[@]}" chroot "$folder" sh -c 'cd /shardid && exec "$@"' sh "$@"
}

# The server of bookworm in /opt/old, next to a newer one, for t/moves/upgrade.pl, with the libraries that the newer
# release lacks. Debian names a library's package after its soname: libgnutls.so.30 is in libgnutls30, libldap-2.5.so.0
# in libldap-2.5-0; two are exceptions.
old_server() {
    local old=/opt/old programs=/opt/old/usr/lib/postgresql/15/bin packages before=
    [[ ! -e $programs/complete ]] || return 0
    unpack "$old" postgresql-15 postgresql-client-15 postgresql-server-dev-15 libpq-dev
    while packages=$(ldd "$programs/postgres" "$programs/initdb" | sed -nE 's/^\s*(\S+) => not found.*/\1/p' | sort -u |
        sed -E 's/^libicu[a-z0-9]+\.so\./libicu/; s/^libxml2\.so\.2$/libxml2/; s/([0-9])\.so\./\1-/; s/\.so\.//' | sort -u) &&
        [[ -n $packages ]]; do
        [[ $packages != "$before" ]] || { echo "lacking still: $packages" >&2; return 1; }
        # shellcheck disable=SC2086 # words
        unpack "$old" $packages
        echo "$old"/usr/lib/*-linux-gnu* >/etc/ld.so.conf.d/zz-old.conf
        ldconfig
        before=$packages
    done
    touch "$programs/complete"
}

# unpack DIRECTORY PACKAGE...: of bookworm, next to what is installed.
unpack() {
    local folder=$1 work apt
    shift
    work=$(mktemp -d)
    mkdir -p "$work/lists/partial" "$work/packages" "$folder"
    echo "deb $MIRROR bookworm main" >"$work/sources.list"
    : >"$work/status" # as if nothing were installed: of a newer version apt would take no older one
    apt=(-q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::status="$work/status"
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any)
    apt-get "${apt[@]}" update
    (cd "$work/packages" && apt-get "${apt[@]}" download "$@")
    find "$work/packages" -name '*.deb' -exec dpkg-deb -x {} "$folder" \;
    rm -rf "$work"
}

# build_source assertions|asan MAJOR-VERSION PREFIX: builds PostgreSQL from Debian's source package, with all that the
# tests need, unless it exists already. Ends with 3 if the archive has no source of that version. PREFIX must contain
# "pgsql": otherwise a patch of Debian's changes the directories. SOURCES can name another archive, as "URL RELEASE
# main". The server's own tests are then in PREFIX/test. apt has lists of its own here: that needs no rights,
# and does not change the machine's.
build_source() {
    local how=$1 version=$2 prefix=$3 candidate apt flags='-O1 -g' options=(--enable-cassert)
    [[ ! -e $prefix/complete ]] || return 0
    [[ $prefix == *pgsql* ]]
    if [[ $how == asan ]]; then
        flags+=' -fsanitize=address -fno-omit-frame-pointer' options=()
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial"
    # shellcheck disable=SC2016 # expanded by apt
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        sed -n 's/ Debian$//p' | sort -u >"$work/sources.list"
    [[ -z ${SOURCES:-} ]] || echo "deb-src $SOURCES" >"$work/sources.list"
    apt=(-q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=-
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
    apt-get "${apt[@]}" update
    # The newest: an archive may have a version as packages only.
    for candidate in $(apt-cache "${apt[@]}" showsrc "postgresql-$version" | sed -n 's/^Version: //p' | sort -Vr); do
        (cd "$work" && apt-get "${apt[@]}" source "postgresql-$version=$candidate") && break
    done
    cd "$work/postgresql-$version"-*/ || { echo "no source package of PostgreSQL $version is served" >&2; exit 3; }
    export ASAN_OPTIONS=detect_leaks=0 # programs that are built run during the build
    ./configure -q --prefix="$prefix" --enable-debug --enable-tap-tests --with-uuid=e2fs --without-readline \
        --without-icu "${options[@]}" CFLAGS="$flags" CXXFLAGS="$flags"
    make -s -j"$(nproc)"
    make -s -j"$(nproc)" -C contrib
    make -s install
    make -s -C contrib install
    make -s -C src/test/isolation
    cp -a src/test "$prefix/test"
    touch "$prefix/complete"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    set -euo pipefail
    "$@"
fi
