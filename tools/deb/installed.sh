# shellcheck shell=bash
# Checks of an installation without a compiler. To be sourced, as root.

# Installing a server's package must not create a cluster.
without_cluster() {
    mkdir -p /etc/postgresql-common/createcluster.d
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/shardid-none.conf
}

# install_server VERSION
install_server() {
    without_cluster
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "postgresql-$1"
}

no_compiler() {
    local compiler
    for compiler in cc c++ gcc g++ clang clang++; do
        ! command -v "$compiler" || { echo "$compiler is installed"; return 1; }
    done
}

# makes_id VERSION [OPTION OF pg_virtualenv...]: on a new server of this version, generates an id of shard 5 with the
# clock's time, and one of a leased shard, for which the server starts a background worker.
makes_id() {
    local made
    made=$(pg_virtualenv "${@:2}" -v "$1" psql -XAt -v ON_ERROR_STOP=1 <<'SQL'
CREATE EXTENSION shardid;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5));
INSERT INTO photos DEFAULT VALUES;
SELECT shard, abs(extract(epoch FROM clock_timestamp() - ts)) < 60 FROM photos, id_parts(id);
CREATE EXTENSION shardid_readers;
CREATE EXTENSION shardid_lease CASCADE;
DO $$
BEGIN
    EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host %L, port %L, dbname %L)',
        split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
    EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user %L)', current_user);
END
$$;
CREATE SEQUENCE leased;
SELECT shardid_lease.create_id_space('shop');
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'leased', shard => 6);
SELECT 'leased', id_shard(next_id(generator => 'leased'));
SQL
    )
    echo "$made"
    grep -qFx '5|t' <<<"$made" && grep -qFx 'leased|6' <<<"$made"
}
