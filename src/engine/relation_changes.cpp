#include "engine/relation_changes.h"

#include "engine/generator.h"
#include "engine/own_sequence.h"

namespace shardid {

namespace {

void note_change(Datum /*argument*/, Oid relid) {
    forget_own_sequences(relid);
    forget_generator(relid, forget_lease_table(relid));
}

}  // namespace

void follow_relation_changes() {
    static bool is_following = false;
    if (!is_following)
        CacheRegisterRelcacheCallback(note_change, Datum{0});
    is_following = true;
}

}  // namespace shardid
