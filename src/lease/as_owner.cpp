// What SQL calls where shardid_lease works on tables that only its owner can write, for a caller
// whose role decides what it may do. SECURITY DEFINER would hide the role; session_user may be
// another role.
#include "core/count.hpp"

#include "compat.h"

extern "C" {
#include "access/xact.h"
#include "parser/parse_func.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/regproc.h"
}

namespace shardid {

namespace {

constexpr const char *suffix = "_by";
constexpr const char *longest_wait = "10s";

struct Inner {
    FmgrInfo function;
    Oid owner;
};

// The function of the same schema whose name ends in _by, and whose first argument is the role.
Oid inner_of(const FormData_pg_proc &outer) {
    Oid types[FUNC_MAX_ARGS];
    types[0] = REGROLEOID;
    for (int i = 0; i < outer.pronargs; ++i)
        types[i + 1] = outer.proargtypes.values[i];
    oidvector *arguments = buildoidvector(types, outer.pronargs + 1);
    char *name = psprintf("%s%s", NameStr(outer.proname), suffix);
    const Oid found =
        GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
                        PointerGetDatum(arguments), ObjectIdGetDatum(outer.pronamespace));
    if (!OidIsValid(found))
        elog(ERROR, "function %s of the extension does not exist", name);
    return found;
}

Inner &looked_up(FmgrInfo *site) {
    if (site->fn_extra != nullptr)
        return *static_cast<Inner *>(site->fn_extra);
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(site->fn_oid));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for function %u", site->fn_oid);
    const auto &outer = *reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    auto *inner = static_cast<Inner *>(MemoryContextAllocZero(site->fn_mcxt, sizeof(Inner)));
    inner->owner = outer.proowner;
    fmgr_info_cxt(inner_of(outer), &inner->function, site->fn_mcxt);
    ReleaseSysCache(tuple);
    site->fn_extra = inner;
    return *inner;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_as_owner);

// An error brings the role back with the transaction's, or the subtransaction's, state. What the
// function has changed outlives a crash, whatever synchronous_commit says; and a member's open
// transaction does not keep others waiting for ever.
Datum shardid_as_owner(PG_FUNCTION_ARGS) {
    Inner &inner = looked_up(fcinfo->flinfo);
    LOCAL_FCINFO(call, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*call, &inner.function, static_cast<short>(PG_NARGS() + 1),
                             PG_GET_COLLATION(), nullptr, nullptr);
    call->args[0] = {ObjectIdGetDatum(GetUserId()), false};
    for (int i = 0; i < PG_NARGS(); ++i)
        call->args[i + 1] = fcinfo->args[i];

    Oid caller;
    int context;
    GetUserIdAndSecContext(&caller, &context);
    SetUserIdAndSecContext(inner.owner, context | SECURITY_LOCAL_USERID_CHANGE);
    const int settings = NewGUCNestLevel();
    if (LockTimeout == 0)
        set_config_option("lock_timeout", longest_wait, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                          true, 0, false);
    const Datum result = FunctionCallInvoke(call);
    AtEOXact_GUC(true, settings);
    ForceSyncCommit();
    SetUserIdAndSecContext(caller, context);
    fcinfo->isnull = call->isnull;
    return result;
}

}  // extern "C"

}  // namespace shardid
