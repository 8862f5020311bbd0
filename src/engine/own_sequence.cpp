#include "engine/own_sequence.h"

#include "engine/extension_member.h"
#include "engine/relation_changes.h"

extern "C" {
#include "catalog/dependency.h"
#include "commands/extension.h"
}

namespace shardid {

OwnSequence uuid_sequence{"shardid_uuid_seq", InvalidOid};
OwnSequence objectid_sequence{"shardid_objectid_seq", InvalidOid};

namespace {

constexpr const char *extension_name = "shardid";

}  // namespace

void forget_own_sequences(Oid relid) {
    OwnSequence *const all[] = {&uuid_sequence, &objectid_sequence};
    for (OwnSequence *sequence : all)
        if (relid == InvalidOid || relid == sequence->relid)
            sequence->relid = InvalidOid;
}

void find_own_sequence(OwnSequence &sequence) {
    follow_relation_changes();
    const Oid found = find_member(extension_name, sequence.name);
    if (!OidIsValid(found))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("sequence \"%s\" of the extension does not exist", sequence.name),
                        errdetail("Extension \"%s\" has no relation of this name.", extension_name),
                        errhint("If it was renamed, give it back its name.")));
    sequence.relid = found;
}

Kind made_from(Relation relation) {
    const char *name = RelationGetRelationName(relation);
    const bool makes_uuids = strcmp(name, uuid_sequence.name) == 0;
    if (!makes_uuids && strcmp(name, objectid_sequence.name) != 0)
        return Kind::ids;
    const Oid extension = getExtensionOfObject(RelationRelationId, RelationGetRelid(relation));
    if (!OidIsValid(extension) || extension != get_extension_oid(extension_name, true))
        return Kind::ids;
    return makes_uuids ? Kind::uuids : Kind::objectids;
}

}  // namespace shardid
