#!/usr/bin/env bash
# Installs missing Debian packages for the given purposes, as listed in tools/packages.txt:
# install-packages.sh build test. If none is missing, it does nothing and needs no rights. --quiet before the
# purposes: shows apt's output only if it fails.
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)

is_installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]] || is_provided "$1"
}

# A package of another name can contain it: some builds of nodejs contain npm, and exclude the package npm.
is_provided() {
    dpkg-query -W -f '${db:Status-Status}, ${Provides},\n' | grep '^installed,' |
        grep -F -e ", $1," -e ", $1 (" >/dev/null
}

# POSTGRESQL_VERSION if set, otherwise that of pg_config if it can build extensions, otherwise the
# distribution's.
postgresql_version() {
    local pg_config=${PG_CONFIG:-pg_config} pgxs
    if [[ -n ${POSTGRESQL_VERSION:-} ]]; then
        echo "$POSTGRESQL_VERSION"
    elif pgxs=$("$pg_config" --pgxs 2>/dev/null) && [[ -e $pgxs ]]; then
        "$pg_config" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'
    else
        apt-cache show postgresql | sed -nE 's/^Version: ([0-9]+).*/\1/p' | sort -n | tail -n 1
    fi
}

# packages_for VERSION MARK PURPOSE...: the packages with this mark, ? or none.
packages_for() {
    local version=$1 mark=$2 purpose
    shift 2
    for purpose in "$@"; do
        sed -nE "s/^$purpose$mark +(.*)/\\1/p" "$tools/packages.txt"
    done | sed "s/%v/$version/" | sort -u
}

has_archive() {
    apt-cache show --no-all-versions "$1" >/dev/null 2>&1
}

# missing_for VERSION PURPOSE...: the missing packages; those with the mark ? only if an archive has them.
missing_for() {
    local package
    for package in $(packages_for "$1" '' "${@:2}"); do
        is_installed "$package" || echo "$package"
    done
    for package in $(packages_for "$1" '[?]' "${@:2}"); do
        is_installed "$package" || ! has_archive "$package" || echo "$package"
    done
}

as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "cannot install packages: neither root nor sudo; please install: ${missing[*]}" >&2
        exit 1
    fi
}

# Shows the command's output only if it fails.
quietly() {
    local shown status=0
    [[ -n $quiet ]] || { "$@"; return; }
    shown=$("$@" 2>&1) || { status=$? && echo "$shown" >&2; }
    return "$status"
}

install() {
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

# Otherwise postgresql-NN would create a cluster and start it.
install_without_cluster() {
    local no_cluster=/etc/postgresql-common/createcluster.d/shardid-none.conf
    install postgresql-common
    as_root mkdir -p "${no_cluster%/*}"
    as_root sh -c "echo 'create_main_cluster = false' > $no_cluster"
    install "$@"
    as_root rm -f "$no_cluster"
}

# Disables the services that these packages have started and enabled. Services from before stay as they were.
disable_new_services() {
    local package
    for package in "$@"; do
        case $package in
        patroni | pgbouncer | prometheus | prometheus-sql-exporter) as_root systemctl disable --now "$package" >/dev/null 2>&1 || true ;;
        postgresql-*-pgq3) as_root systemctl disable --now pgqd >/dev/null 2>&1 || true ;;
        etcd-server) as_root systemctl disable --now etcd >/dev/null 2>&1 || true ;;
        esac
    done
}

quiet=
if [[ ${1:-} == --quiet ]]; then
    quiet=1
    shift
fi
version=$(postgresql_version || true)
missing=()
if [[ -z $version ]]; then
    missing=(postgresql)
    quietly as_root apt-get update -q
    version=$(postgresql_version)
fi
mapfile -t missing < <(missing_for "$version" "$@")
if [[ ${#missing[@]} -gt 0 ]]; then
    quietly as_root apt-get update -q
    mapfile -t missing < <(missing_for "$version" "$@")
    echo "installing: ${missing[*]}"
    if is_installed "postgresql-$version"; then
        install "${missing[@]}"
    else
        install_without_cluster "${missing[@]}"
    fi
    disable_new_services "${missing[@]}"
fi
