#include "engine/relation_changes.h"

namespace shardid {

namespace {

void note_change(Datum /*argument*/, Oid relid) {
    forget_relation(relid);
}

}  // namespace

void (*forget_relation)(Oid relid);

void follow_relation_changes() {
    static bool is_following = false;
    if (!is_following)
        CacheRegisterRelcacheCallback(note_change, Datum{0});
    is_following = true;
}

}  // namespace shardid
