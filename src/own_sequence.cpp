#include "own_sequence.h"

namespace shardid {

Oid find_own_sequence(FunctionCallInfo fcinfo, const char *name) {
    const Oid function = fcinfo->flinfo->fn_oid;
    const Oid schema = get_func_namespace(function);
    if (!OidIsValid(schema))
        elog(ERROR, "cache lookup failed for function %u", function);
    const Oid sequence = get_relname_relid(name, schema);
    if (!OidIsValid(sequence))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("sequence %s of the extension does not exist", name),
                        errdetail("It is looked for in schema \"%s\".", get_namespace_name(schema)),
                        errhint("If it was renamed or moved, give it back its name and schema.")));
    return sequence;
}

}  // namespace shardid
