#include "engine/citus.h"

extern "C" {
#include "commands/extension.h"
}

namespace shardid {

bool has_citus() {
    return OidIsValid(get_extension_oid("citus", true));
}

}  // namespace shardid
