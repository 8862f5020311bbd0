#!/usr/bin/env bash
# Generates an id with the files that tools/deb/image.sh has put into this directory: image_check.sh VERSION. To be run
# by chroot.sh.
set -euo pipefail
# shellcheck source=tools/deb/installed.sh
source tools/deb/installed.sh

no_compiler
makes_id "$1"
