# shellcheck shell=bash
# What is asked of an installation without a compiler. To be sourced, as root.

# No cluster is made with a server's package.
without_cluster() {
    mkdir -p /etc/postgresql-common/createcluster.d
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/shardid-none.conf
}

no_compiler() {
    local compiler
    for compiler in cc c++ gcc g++ clang clang++; do
        ! command -v "$compiler" || { echo "$compiler is installed"; return 1; }
    done
}

# On a server of the version given, of its own: an id of shard 5 and of the clock's time.
makes_id() {
    local made
    made=$(pg_virtualenv -v "$1" psql -XAt -v ON_ERROR_STOP=1 <<'SQL'
CREATE EXTENSION shardid;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5));
INSERT INTO photos DEFAULT VALUES;
SELECT shard, abs(extract(epoch FROM clock_timestamp() - ts)) < 60 FROM photos, id_parts(id);
SQL
    )
    echo "$made"
    grep -qFx '5|t' <<<"$made"
}
