#!/usr/bin/env bash
# Builds PostgreSQL from Debian's source package, in a way that Debian does not, with all that the tests need
# of it: build-source.sh assertions|asan MAJOR-VERSION PREFIX. Does nothing where it is there already. Ends
# with 3 if no source package of that version is served.
#
# PREFIX has to contain "pgsql": a patch of Debian's puts folders of its own in place of another's.
set -euo pipefail
how=$1 version=$2 prefix=$3
[[ ! -e $prefix/complete ]] || exit 0
[[ $prefix == *pgsql* ]]

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Where the packages of this machine come from, their sources may be, too. In lists of their own: no right
# is needed, and nothing of the machine's is changed.
find_sources() {
    # shellcheck disable=SC2016 # expanded by apt
    apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        sed -n 's/ Debian$//p' | sort -u >"$work/sources.list"
    mkdir -p "$work/lists/partial"
    apt=(-q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=-
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
    apt-get "${apt[@]}" update
}

# The newest that is served: an archive may know of a version of which it has the packages only.
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

# What is built runs while it builds.
export ASAN_OPTIONS=detect_leaks=0
find_sources
unpack_source
(build)
