#include "answer.h"

extern "C" {
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
}

namespace shardid {

namespace {

Oid function_named(const char *name, int arguments, const Oid *types) {
    List *qualified = list_make2(makeString(pstrdup("shardid_lease")), makeString(pstrdup(name)));
    return LookupFuncName(qualified, arguments, types, false);
}

Datum text_or_empty(const char *text) {
    return CStringGetTextDatum(text == nullptr ? "" : text);
}

int64 number(HeapTupleHeader row, const char *column) {
    bool is_null;
    const Datum value = GetAttributeByName(row, column, &is_null);
    return is_null ? 0 : DatumGetInt64(value);
}

bool flag(HeapTupleHeader row, const char *column) {
    bool is_null;
    const Datum value = GetAttributeByName(row, column, &is_null);
    return !is_null && DatumGetBool(value);
}

// Sees what is committed now, whatever snapshot the transaction has.
Answer answer_by(const char *name, const char *requests, const Reply &reply) {
    const Oid types[] = {TEXTOID, TEXTOID, TEXTOID, BOOLOID};
    PushActiveSnapshot(GetLatestSnapshot());
    const Datum result = OidFunctionCall4(
        function_named(name, lengthof(types), types), text_or_empty(requests),
        text_or_empty(reply.answers), text_or_empty(reply.error), BoolGetDatum(reply.is_refusal));
    PopActiveSnapshot();
    HeapTupleHeader row = DatumGetHeapTupleHeader(result);
    bool has_none;
    const Datum fault = GetAttributeByName(row, "fault", &has_none);
    return {has_none ? nullptr : TextDatumGetCString(fault),
            flag(row, "is_answered"),
            flag(row, "is_refused"),
            flag(row, "is_final"),
            number(row, "from_ms"),
            number(row, "until_ms"),
            number(row, "lease_ms")};
}

}  // namespace

Answer store_answers(const char *requests, const Reply &reply) {
    return answer_by("store_answers", requests, reply);
}

Answer checked_answer(const char *requests, const Reply &reply) {
    return answer_by("checked_answer", requests, reply);
}

void begin_lease(const LeasedRow &row) {
    const Oid types[] = {UUIDOID, UUIDOID, OIDOID, TEXTOID, TEXTOID, INT4OID};
    OidFunctionCall6(function_named("begin_lease", lengthof(types), types),
                     UUIDPGetDatum(&row.origin), UUIDPGetDatum(&row.lease),
                     ObjectIdGetDatum(row.generator), CStringGetTextDatum(row.server),
                     CStringGetTextDatum(row.space), Int32GetDatum(row.shard));
}

void change_lease(const LeasedRow &row, const char *what) {
    const Oid types[] = {UUIDOID, TEXTOID, OIDOID};
    OidFunctionCall3(function_named("change_lease", lengthof(types), types),
                     UUIDPGetDatum(&row.lease), CStringGetTextDatum(what),
                     ObjectIdGetDatum(row.generator));
}

}  // namespace shardid
