
#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/membership.h"

#include "engine/incarnation.h"
#include "engine/lease.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"

extern "C" {
#include "catalog/objectaddress.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

LeaseTables lease_tables() {
    LeaseTables tables;
    if (!find_lease_tables(&tables.generators, &tables.windows))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("extension \"%s\" does not exist in this database", "shardid_lease"),
                        errhint("Run CREATE EXTENSION shardid_lease CASCADE.")));
    return tables;
}

void check_owner(Oid generator) {
    Relation relation = open_sequence(generator, AccessShareLock, "Pass the name of a sequence.");
    const Oid owner = relation->rd_rel->relowner;
    if (!has_privs_of_role(GetUserId(), owner)) {
        const char *user = GetUserNameFromId(GetUserId(), false);
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("must be owner of sequence %s", RelationGetRelationName(relation)),
                        errdetail("Its owner is \"%s\", and role \"%s\" is not a member of that.",
                                  GetUserNameFromId(owner, false), user),
                        errhint("Run this as its owner.")));
    }
    relation_close(relation, AccessShareLock);
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

char *incarnation_of(Oid generator, const Digest &family, XLogRecPtr moved_at) {
    WindowRow row;
    if (moved_at == InvalidXLogRecPtr && read_window_row(lease_tables().windows, generator, &row) &&
        strcmp(row.family, family.text) == 0)
        moved_at = row.moved_at;
    return psprintf("%s@%s", family.text,
                    DatumGetCString(DirectFunctionCall1(pg_lsn_out, LSNGetDatum(moved_at))));
}

// Straight into the table: no name has to be found on a path that is the caller's.
void write_leased_row(const LeaseTables &tables, Oid generator, const LeasedRow &row) {
    Relation table = table_open(tables.generators, RowExclusiveLock);
    put_leased_row(table, generator, row);
    table_close(table, NoLock);
    CacheInvalidateRelcacheByRelid(generator);
    CommandCounterIncrement();
}

}  // namespace shardid
