#!/usr/bin/env bash
# make bench-portable: the SQL-only functions, Instagram's PL/pgSQL function and the extension. To be run by sandbox.sh.
export PGOPTIONS='-c synchronous_commit=off -c shardid.shard_id=5'
exec bench/run.sh portable.py
