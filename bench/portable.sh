#!/usr/bin/env bash
# make bench-portable: the portable functions beside the recipe and the extension. To be run by sandbox.sh.
export PGOPTIONS='-c synchronous_commit=off'
exec bench/run.sh portable.py
