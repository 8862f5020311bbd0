#include "late_names.h"

#include "engine/arguments.h"

extern "C" {
#include "catalog/namespace.h"
#include "utils/varlena.h"
}

namespace shardid {

namespace {

// How a reference begins, before the OID or the name.
constexpr char oid_follows = 'o';
constexpr char name_follows = 'n';

char *stored(Datum ref) {
    return TextDatumGetCString(ref);
}

Oid oid_in(const char *ref) {
    return atooid(ref + 1);
}

bool is_sequence(Oid relation) {
    return OidIsValid(relation) && get_rel_relkind(relation) == RELKIND_SEQUENCE;
}

// By no search_path: a name without a schema is not found.
Oid relation_named(const char *name) {
    List *parts;
    if (!SplitIdentifierString(pstrdup(name), '.', &parts) || list_length(parts) != 2)
        return InvalidOid;
    const Oid schema = get_namespace_oid(static_cast<char *>(linitial(parts)), true);
    return OidIsValid(schema) ? get_relname_relid(static_cast<char *>(lsecond(parts)), schema)
                              : InvalidOid;
}

Oid role_of_ref(Datum ref) {
    const char *text = stored(ref);
    if (text[0] == name_follows)
        return get_role_oid(text + 1, true);
    return SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(oid_in(text))) ? oid_in(text)
                                                                          : InvalidOid;
}

char *sequence_name(Oid sequence) {
    if (!is_sequence(sequence))
        return nullptr;
    const char *schema = get_namespace_name(get_rel_namespace(sequence));
    const char *name = get_rel_name(sequence);
    return schema == nullptr || name == nullptr ? nullptr
                                                : quote_qualified_identifier(schema, name);
}

using NameOf = char *(*)(Oid);

char *shown(Datum ref, NameOf name_of) {
    char *text = stored(ref);
    char *name = text[0] == oid_follows ? name_of(oid_in(text)) : nullptr;
    return name == nullptr ? pstrdup(text + 1) : name;
}

char *role_name(Oid role) {
    return GetUserNameFromId(role, true);
}

Datum oid_or_null(FunctionCallInfo fcinfo, Oid object) {
    fcinfo->isnull = !OidIsValid(object);
    return ObjectIdGetDatum(object);
}

}  // namespace

Oid sequence_of_ref(Datum ref) {
    const char *text = stored(ref);
    const Oid found = text[0] == oid_follows ? oid_in(text) : relation_named(text + 1);
    return is_sequence(found) ? found : InvalidOid;
}

bool is_by_name(Datum ref) {
    return stored(ref)[0] == name_follows;
}

char *name_of_sequence_ref(Datum ref) {
    return shown(ref, sequence_name);
}

SQL_FUNCTION(shardid_late_name_in) {
    PG_RETURN_DATUM(CStringGetTextDatum(psprintf("%c%s", name_follows, PG_GETARG_CSTRING(0))));
}

SQL_FUNCTION(shardid_role_ref_out) {
    PG_RETURN_CSTRING(shown(PG_GETARG_DATUM(0), role_name));
}

SQL_FUNCTION(shardid_sequence_ref_out) {
    PG_RETURN_CSTRING(name_of_sequence_ref(PG_GETARG_DATUM(0)));
}

SQL_FUNCTION(shardid_role_ref) {
    PG_RETURN_DATUM(CStringGetTextDatum(psprintf("%c%u", oid_follows, PG_GETARG_OID(0))));
}

SQL_FUNCTION(shardid_role_oid) {
    return oid_or_null(fcinfo, role_of_ref(PG_GETARG_DATUM(0)));
}

SQL_FUNCTION(shardid_sequence_oid) {
    return oid_or_null(fcinfo, sequence_of_ref(PG_GETARG_DATUM(0)));
}

}  // namespace shardid
