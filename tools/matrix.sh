#!/usr/bin/env bash
# Runs `make test` in a folder of each Debian release, on its PostgreSQL, with pg_upgrade from 15 to the
# newer ones; compiles against the headers of any other; ends with a line a version. Settings:
#   RELEASES="trixie"   only these (bookworm trixie sid)
#   TEST, FULL          as for make test; FULL=1 runs make test-full
#   CACHE=FOLDER        keeps the releases there, so that the next run is fast; remove it to have newer ones
#   MIRROR=URL          where Debian packages come from; default: this machine's own mirror
# Needs root: debootstrap and chroot do.
# shellcheck disable=SC2317,SC2329 # functions are called by a trap and by logged
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null ||
        { echo 'make matrix needs root or sudo, for debootstrap and chroot' >&2; exit 1; }
    exec sudo --preserve-env=RELEASES,TEST,FULL,ROUNDS,CACHE,MIRROR tools/matrix.sh
fi

releases=${RELEASES:-bookworm trixie sid}
# Not /tmp: device files are made there, which some machines do not allow.
work=$(mktemp -d /var/tmp/shardid-matrix.XXXXXX)
folders=${CACHE:-$work}

clean_up() {
    # chroot.sh's mounts are not seen here; what is, is not ours to lose.
    if grep -q " $work/" /proc/self/mountinfo; then
        echo "not removed, something is mounted in it: $work" >&2
    else
        rm -rf --one-file-system "$work"
    fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

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

# debootstrap mounts /proc for itself, here where nobody else sees it.
make_folder() {
    local release=$1 folder=$2
    [[ ! -d $folder ]] || return 0
    mkdir -p "${folder%/*}"
    rm -rf --one-file-system "$folder.new"
    unshare --mount debootstrap --variant=minbase --include=make "$release" "$folder.new" "$MIRROR"
    mv "$folder.new" "$folder"
}

copy_tree() {
    local folder=$1
    rm -rf "$folder/shardid"
    mkdir "$folder/shardid"
    tar --exclude=./.git --exclude=./bench/results --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . |
        tar -C "$folder/shardid" --no-same-owner -xf -
}

server_version() {
    tools/chroot.sh "$1" pg_config --version | sed -E 's/^PostgreSQL ([^ ]+).*/\1/'
}

# Everything that `make test` needs, in one release's folder, and an older server.
prepare() {
    local release=$1 folder=$2 purposes='build test' version
    [[ -z ${FULL:-} ]] || purposes+=' full'
    make_folder "$release" "$folder"
    copy_network_settings "$folder"
    copy_tree "$folder"
    # shellcheck disable=SC2086 # words
    tools/chroot.sh "$folder" tools/install-packages.sh $purposes
    version=$(server_version "$folder")
    [[ ${version%%.*} -le 15 ]] || tools/chroot.sh "$folder" tools/old-server.sh
}

test_in() {
    local folder=$1 old=/opt/old/usr/lib/postgresql/15/bin/pg_config
    [[ -e $folder$old ]] || old=
    UPGRADE_FROM=$old tools/chroot.sh "$folder" make "test${FULL:+-full}"
}

# Runs a function into the log and shows the log's end if it fails. In a subshell of its own: what is called
# as a condition loses its set -e.
logged() {
    local log=$1 lines=$2 failed
    shift 2
    set +e
    (set -e; "$@") >"$log" 2>&1 </dev/null
    failed=$?
    set -e
    [[ $failed == 0 ]] || { tail -n "$lines" "$log"; status=1; return 1; }
}

status=0
lines=()
tested=()

report() {
    local release=$1 folder=$2 log=$3 version result
    version=$(server_version "$folder" 2>/dev/null) || version='?'
    result=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1) || true
    tested+=("${version%%.*}")
    lines+=("PostgreSQL $version ($release): ${result:-did not run to its end}")
    sed -nE "s/^(ok|FAILED) +(pg_upgrade .*)/PostgreSQL $version ($release): \2: \1/p" "$log" >"$work/upgrades"
    mapfile -t -O "${#lines[@]}" lines <"$work/upgrades"
    # The table of the faults.
    sed -n '/^| /p' "$log"
}

find_mirror
for release in $releases; do
    echo "== $release"
    folder=$folders/$release
    : >"$work/log"
    if logged "$work/prepare.log" 40 prepare "$release" "$folder"; then
        logged "$work/log" +1 test_in "$folder" || true
    fi
    report "$release" "$folder" "$work/log"
done

if [[ -e $folder/shardid/tools ]]; then
    echo '== other versions: headers only'
    logged "$work/log" +1 tools/chroot.sh "$folder" tools/compile-only.sh "${tested[@]}" || true
    mapfile -t -O "${#lines[@]}" lines < <(grep '^PostgreSQL ' "$work/log")
fi

echo
printf '%s\n' "${lines[@]}"
exit "$status"
