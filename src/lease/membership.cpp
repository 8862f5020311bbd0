#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/membership.h"

#include "engine/sequence.h"
#include "engine/sequence_page.h"

namespace shardid {

Oid owner_of_sequence(Oid generator) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(generator));
    if (!HeapTupleIsValid(tuple))
        return InvalidOid;
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    return owner;
}

void check_owner(Oid generator, Oid caller, LOCKMODE lock) {
    Relation relation = open_sequence(generator, lock, "Pass the name of a sequence.");
    const Oid owner = relation->rd_rel->relowner;
    if (!has_privs_of_role(caller, owner))
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                 errmsg("must be owner of sequence %s", RelationGetRelationName(relation)),
                 errdetail("Its owner is \"%s\", and role \"%s\" is not a member of that.",
                           GetUserNameFromId(owner, false), GetUserNameFromId(caller, false)),
                 errhint("Run this as its owner.")));
    relation_close(relation, lock);
}

Standing standing_of(Relation sequence) {
    const Locator locator = locator_of(sequence);
    const OpenPage page = lock_page(ReadBuffer(sequence, 0), BUFFER_LOCK_SHARE);
    Standing standing{
        last_tick_of(page),
        is_ours(page, stamp_of(locator)) ? InvalidXLogRecPtr : BufferGetLSNAtomic(page.buffer),
        binding_of(page),
        {}};
    close_page(page);
    standing.family = family_of(RelationGetRelid(sequence), locator);
    return standing;
}

XLogRecPtr incarnation_move(const Standing &standing, const WindowRow &window) {
    if (standing.moved_at != InvalidXLogRecPtr ||
        strcmp(window.family.text, standing.family.text) != 0)
        return standing.moved_at;
    return window.moved_at;
}

const char *incarnation_text(const Digest &family, XLogRecPtr moved_at) {
    return psprintf("%s@%X/%X", family.text, static_cast<uint32>(moved_at >> 32),
                    static_cast<uint32>(moved_at));
}

}  // namespace shardid
