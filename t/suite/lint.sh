#!/usr/bin/env bash
# Shell scripts, workflows and pages: shellcheck, yamllint, codespell, markdownlint; and whether mutants can be applied.
set -euo pipefail

tools/mutants.py check
echo 'ok mutants'
shellcheck -x packaging/release/*.sh tools/*.sh {tools,t}/*/*.sh bench/*.sh proof/model/*.sh examples/*.sh {examples,contrib}/*/*.sh contrib/*/t/*.sh .ci/run
echo 'ok shellcheck'
lines="{extends: relaxed, rules: {line-length: {max: 120}}}"
yamllint -d "$lines" --strict .github/*/*.yml
for block in number registry member; do
    tools/page_block.sh packaging/cnpg/README.md "$block" | yamllint -d relaxed --strict -
done
for block in compose workflow; do
    tools/page_block.sh docs/development.md "$block" | yamllint -d "$lines" --strict -
done
echo 'ok yamllint'
cmp packaging/docker/Dockerfile <(tools/page_block.sh docs/install.md image)
echo 'ok the Dockerfile is the one on the page'
codespell --ignore-words-list=swith,isnt,fro,inout,numbe,brin ./*.md docs src examples contrib ./*.sql
echo 'ok codespell'
if command -v mdl >/dev/null; then
    mdl -s t/suite/markdown.rb ./*.md docs contrib
    echo 'ok markdownlint'
else
    echo 'ok markdownlint # skip no archive of this release has ruby-mdl'
fi
# A number other than 1 begins no list within a paragraph.
for page in ./*.md docs/*.md contrib/*/*.md examples/*/README.md packaging/*/README.md; do
    ! cmark-gfm --extension table "$page" | grep -E '^[0-9]+\. ' || { echo "$page: a step within a paragraph"; exit 1; }
done
echo 'ok steps are lists'
