#!/usr/bin/env bash
# Makes an id with what tools/deb/image.sh has put into this folder: image_check.sh VERSION. To be run by chroot.sh.
set -euo pipefail
# shellcheck source=tools/deb/installed.sh
source tools/deb/installed.sh

no_compiler
makes_id "$1"
