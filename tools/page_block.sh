#!/usr/bin/env bash
# Prints the code block of this name on a page: page_block.sh docs/install.md image. See t/lib/Docs.pm.
set -euo pipefail
block=$(sed -nE "/^\`\`\`[a-z]+ $2\$/,/^\`\`\`\$/{//!p}" "$1")
[[ -n $block ]] || { echo "$1 has no block $2" >&2; exit 1; }
echo "$block"
