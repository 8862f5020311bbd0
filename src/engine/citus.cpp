#include "engine/citus.h"

extern "C" {
#include "commands/extension.h"
}

namespace shardid {

namespace {

// Its worker_apply_sequence_command gives 2^48 values to each node, by its number in pg_dist_node.
constexpr int64 share = int64{1} << 48;

constexpr bool is_share(int64 min, int64 max) {
    return min > share && min % share == 1 && max - min == share;
}

static_assert(is_share(share + 1, 2 * share + 1) && is_share(9 * share + 1, 10 * share + 1));
static_assert(!is_share(1, PG_INT64_MAX) && !is_share(1, share + 1) && !is_share(1, PG_INT32_MAX));
static_assert(!is_share(share + 1, PG_INT64_MAX) && !is_share(share, 2 * share));

constexpr const char *way_around =
    "let the default use shardid_seq, or a sequence that is created on every node with "
    "citus.enable_ddl_propagation off and named as text: generator => 'name'::text::regclass";

}  // namespace

bool has_citus() {
    return OidIsValid(get_extension_oid("citus", true));
}

const char *hint_on_narrowed(Oid sequence) {
    const FormData_pg_sequence definition = definition_of(sequence);
    if (!is_share(definition.seqmin, definition.seqmax))
        return nullptr;
    return psprintf("Citus gives such bounds to a worker and refuses to alter them: %s.",
                    way_around);
}

const char *hint_on_altering(Oid sequence, const char *command) {
    const char *narrowed = hint_on_narrowed(sequence);
    if (narrowed != nullptr)
        return narrowed;
    if (has_citus())
        return psprintf("Run %s. Where Citus refuses that, %s.", command, way_around);
    return psprintf("Run %s.", command);
}

}  // namespace shardid
