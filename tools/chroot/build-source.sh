#!/usr/bin/env bash
# Builds PostgreSQL from Debian's source package with assertions or with ASan, and with all that the tests
# need: build-source.sh assertions|asan MAJOR-VERSION PREFIX. Does nothing if it exists already. Ends with 3
# if the archive has no source package of that version.
#
# PREFIX must contain "pgsql": otherwise a patch of Debian's changes the directories.
set -euo pipefail
how=$1 version=$2 prefix=$3
[[ ! -e $prefix/complete ]] || exit 0
[[ $prefix == *pgsql* ]]

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The archives of this machine's packages may have sources, too. apt uses separate lists for them: that needs
# no rights, and does not change the machine's own lists.
find_sources() {
    # shellcheck disable=SC2016 # expanded by apt
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        sed -n 's/ Debian$//p' | sort -u >"$work/sources.list"
    mkdir -p "$work/lists/partial"
    apt=(-q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=-
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
    apt-get "${apt[@]}" update
}

# The newest source: an archive may have a version as packages only.
unpack_source() {
    local package=postgresql-$version candidate
    apt-cache "${apt[@]}" showsrc "$package" | sed -n 's/^Version: //p' | sort -Vr >"$work/versions" || true
    while read -r candidate; do
        if (cd "$work" && apt-get "${apt[@]}" source "$package=$candidate"); then
            mv "$work/$package"-*/ "$work/source"
            return
        fi
    done <"$work/versions"
    echo "no source package of PostgreSQL $version is served" >&2
    exit 3
}

configure() {
    local flags='-O1 -g' options=()
    case $how in
        assertions) options=(--enable-cassert) ;;
        asan) flags+=' -fsanitize=address -fno-omit-frame-pointer' ;;
        *) return 1 ;;
    esac
    ./configure -q --prefix="$prefix" --enable-debug --enable-tap-tests --with-uuid=e2fs --without-readline \
        --without-icu "${options[@]}" CFLAGS="$flags" CXXFLAGS="$flags"
}

build() {
    cd "$work/source"
    configure
    make -s -j"$(nproc)"
    make -s -j"$(nproc)" -C contrib
    make -s install
    make -s -C contrib install
    touch "$prefix/complete"
}

# Programs that are built run during the build.
export ASAN_OPTIONS=detect_leaks=0
find_sources
unpack_source
(build)
