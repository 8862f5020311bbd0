#!/usr/bin/env bash
# Makes an id with what tools/image.sh has put into this folder: image_check.sh VERSION. To be run by chroot.sh.
set -euo pipefail
# shellcheck source=tools/installed.sh
source tools/installed.sh

no_compiler
makes_id "$1"
