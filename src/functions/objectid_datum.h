// An ObjectId as SQL's bytea.
#pragma once

#include "core/objectid.hpp"

#include "compat.h"

namespace shardid {

// Palloc'd.
inline Datum objectid_datum(const ObjectIdParts &parts) {
    const ObjectIdBytes bytes = pack_objectid(parts);
    auto *result = static_cast<bytea *>(palloc(VARHDRSZ + objectid_size));
    SET_VARSIZE(result, VARHDRSZ + objectid_size);
    memcpy(VARDATA(result), bytes.byte, objectid_size);
    return PointerGetDatum(result);
}

}  // namespace shardid
