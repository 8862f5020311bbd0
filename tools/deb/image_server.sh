#!/usr/bin/env bash
# Installs the server into a directory that replaces the official image: image_server.sh VERSION. To be run by
# chroot.sh.
set -euo pipefail
# shellcheck source=tools/deb/installed.sh
source tools/deb/installed.sh

without_cluster
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "postgresql-$1"
