// PostgreSQL's headers for C++, and everything in which the supported versions (15 to 19) differ.
#pragma once

extern "C" {
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_control.h"
#include "catalog/pg_database.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_sequence.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/s_lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inet.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "utils/wait_event.h"

// Before another version is supported, t/generator/outside_queries.pl has to pass on it:
// copy_support.cpp leans on what its planner does not fold. Above all it must find each row's own
// id for ADD COLUMN, ALTER COLUMN TYPE ... USING, two defaults of one table, a domain's
// CHECK, EXECUTE, CALL and a subscriber, no id for a NULL argument, and rows in batches for COPY.
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "shardid supports PostgreSQL 15 to 19"
#endif

// Out of commands/sequence.h in 19.
#if PG_VERSION_NUM >= 190000
#include "commands/sequence_xlog.h"
#endif
}

namespace shardid {

// RelFileNode became RelFileLocator in 16, and what has one was renamed with it.
#if PG_VERSION_NUM < 160000
#define RelFileLocator RelFileNode
#define rd_locator rd_node
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define dbOid dbNode
#define relNumber relNode
#endif

// Whether this transaction gave the relation new storage in place of other storage, which a
// rollback to some point would bring back.
inline bool has_replaced_storage(Relation relation) {
    return relation->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
}

// Whether the relation's storage was made in this transaction.
inline bool has_new_storage(Relation relation) {
    return relation->rd_createSubid != InvalidSubTransactionId || has_replaced_storage(relation);
}

// What only Assert()s ask.
#ifdef USE_ASSERT_CHECKING
// Core holds interrupts off as long as it holds a page's lock.
inline bool no_page_is_locked() {
    return InterruptHoldoffCount == 0 && CritSectionCount == 0;
}

inline bool is_first_page_of(Buffer buffer, const RelFileLocator &locator) {
    RelFileLocator found;
    ForkNumber fork;
    BlockNumber block;
    BufferGetTag(buffer, &found, &fork, &block);
    return memcmp(&found, &locator, sizeof(locator)) == 0 && fork == MAIN_FORKNUM && block == 0;
}
#endif

// Whether a statement's rows are thrown away. EXPLAIN (ANALYZE, SERIALIZE) is new in 17.
inline bool is_discarded(CommandDest destination) {
#if PG_VERSION_NUM >= 170000
    if (destination == DestExplainSerialize)
        return true;
#endif
    return destination == DestNone;
}

// MyProc->lxid moved in 17.
inline LocalTransactionId current_lxid() {
#if PG_VERSION_NUM >= 170000
    return MyProc->vxid.lxid;
#else
    return MyProc->lxid;
#endif
}

// Where the checkpointer says whether there are synchronous standbys to wait for: a bool
// before 15.13, 16.9 and 17.5; from then on, under another name, two flags.
template <typename Control>
const volatile uint8 &standby_status(const Control &control) {
    if constexpr (requires { control.sync_standbys_status; })
        return reinterpret_cast<const volatile uint8 &>(control.sync_standbys_status);
    else
        return reinterpret_cast<const volatile uint8 &>(control.sync_standbys_defined);
}

// What it says. Anything else: the checkpointer has not read the setting yet.
struct StandbyStatusCodes {
    uint8 none;
    uint8 some;
};

// The server may be another minor version than the headers.
inline StandbyStatusCodes standby_status_codes() {
    constexpr int first_minor_with_flags[] = {13, 9, 5};
    const int version = pg_strtoint32(GetConfigOption("server_version_num", false, false));
    const bool has_flags =
        version >= 180000 || version % 10000 >= first_minor_with_flags[version / 10000 - 15];
    return has_flags ? StandbyStatusCodes{1, 3} : StandbyStatusCodes{0, 1};
}

// From 17 on a wait has a name of its own in pg_stat_activity. REQUIRED: there is shared memory.
inline uint32 wait_event_named([[maybe_unused]] const char *name) {
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    return PG_WAIT_EXTENSION;
#endif
}

// The setting that bounds the longest part of a transaction: all of it, from 17 on.
#if PG_VERSION_NUM >= 170000
inline constexpr const char *longest_transaction_setting = "transaction_timeout";
#else
inline constexpr const char *longest_transaction_setting = "idle_in_transaction_session_timeout";
#endif

// Functions and foreign servers; core has one function for all objects from 16 on.
#if PG_VERSION_NUM < 160000
inline AclResult object_aclcheck(Oid catalog, Oid object, Oid role, AclMode mode) {
    return catalog == ProcedureRelationId ? pg_proc_aclcheck(object, role, mode)
                                          : pg_foreign_server_aclcheck(object, role, mode);
}
#endif

// What was an int became an enum in 19, and SEQ_MAGIC was private to sequence.c before.
#if PG_VERSION_NUM >= 190000
using SyscacheNumber = SysCacheIdentifier;
using BufferLock = BufferLockMode;
inline constexpr uint32 sequence_page_magic = SEQ_MAGIC;
#else
using SyscacheNumber = int;
using BufferLock = int;
inline constexpr uint32 sequence_page_magic = 0x1717;
#endif

// Before 16 core's tree walkers take a function whose parameters are not declared.
#if PG_VERSION_NUM < 160000
using TreeWalker = bool (*)();
#else
using TreeWalker = bool (*)(Node *, void *);
#endif

inline TreeWalker as_tree_walker(bool (*walker)(Node *, void *)) {
    return reinterpret_cast<TreeWalker>(reinterpret_cast<void (*)()>(walker));
}

#if PG_VERSION_NUM < 160000
inline TreeWalker as_tree_walker(bool (*walker)(PlanState *, void *)) {
    return reinterpret_cast<TreeWalker>(reinterpret_cast<void (*)()>(walker));
}
#else
inline auto as_tree_walker(bool (*walker)(PlanState *, void *)) {
    return walker;
}
#endif

}  // namespace shardid
