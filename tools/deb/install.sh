#!/usr/bin/env bash
# Installs the package in deb/RELEASE as docs/install.md says, without a compiler, generates an id, and runs the
# package's own test: install.sh RELEASE VERSION. To be run by chroot.sh in a directory that contains only the
# Debian release.
set -euo pipefail
# shellcheck source=tools/deb/installed.sh
source tools/deb/installed.sh
release=$1 version=$2
export DEBIAN_FRONTEND=noninteractive
echo 'APT { Get::Assume-Yes "true"; Install-Recommends "false"; };' >/etc/apt/apt.conf.d/91shardid

no_compiler
without_cluster
apt-get update -q
install=$(tools/page_block.sh docs/install.md install_package | sed "s/^sudo //; s/trixie/$release/; s/17/$version/")
bash -ec "$install"
makes_id "$version"
apt-get install -q autopkgtest
no_compiler
autopkgtest --no-built-binaries "deb/$release"/*.dsc -- null
