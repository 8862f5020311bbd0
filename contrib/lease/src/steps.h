// What the script of shardid_lease does for the library: it reads leases, builds requests to the
// registry, and stores or uses answers. All of it is jsonb, and a job is an object that each step
// returns with what comes next. Between two steps the registry is asked (exchange.cpp): a database
// behind a foreign server, by libpq.
#pragma once

#include "engine/server.h"

#include <initializer_list>

extern "C" {
#include "lib/stringinfo.h"
}

namespace shardid {

// What the registry has answered, an array of grant_1; or null, and why it has not, which begins by
// naming the source of the error, this server or the registry.
struct Reply {
    const char *answers;
    const char *error;
    bool is_refusal;  // of the error: a later try does not help
};

// The script's function of this name. Raises 42883 if it is missing.
Oid function_named(const char *name, int arguments, const Oid *types);

// Calls it, and returns a jsonb object or, for null, 0. It sees what is committed now, whatever
// snapshot the transaction has.
Datum call_script(const char *name, const Oid *types, std::initializer_list<NullableDatum> values);

NullableDatum text_or_null(const char *text);

// member_step() or session_step().
Datum step(const char *function, Datum job, const Reply &reply);

// How the registry behind the server is reached; or a message, as told() of the script puts it.
Datum address_of(const char *server, Oid role);

// Whether the extension's tables exist. Looked up once, until a relation changes.
bool has_lease_tables();

// Whether this is leased_generator.
bool is_leased_table(Oid relid);

// Raises 42704 if there are none.
void require_lease_tables();

// For the relcache callback: forgets what it knew of the relation, and returns whether that is a
// table that leases are read from.
bool forget_lease_table(Oid relid);

// The generator's lease and its window, as the columns of both; or of this origin's, if that is not
// null. Returns 0 if there is none. As it is committed now: nobody is told later of a change that
// this has not read. Raises 55000 if it is not to be seen which lease the generator has; for a
// reader, who generates no id, it is sealed then. REQUIRED: no page is locked.
Datum read_lease(Oid generator, const char *origin, bool is_reader = false);

// Raises a message that an object has, if it has one.
void raise_message(Datum object);

// A field as text; null if there is none.
const char *field(Datum object, const char *name);

// Whether it has this field.
bool has(Datum object, const char *name, const char *value);

// The same as field(), of the type; 0 if there is none.
uint64 number(Datum object, const char *name);
XLogRecPtr lsn(Datum object, const char *name);
TimestampTz time_of(Datum object, const char *name);

// An object that is written: its first field, the others, and its end.
void begin_object(StringInfo json, const char *name, const char *value);
void append(StringInfo json, const char *name, const char *value);
void append(StringInfo json, const char *name, int64 value);
Datum end_object(StringInfo json);

// What is on a generator's page, and the job of a task, not yet at their end.
void begin_page(StringInfo json, const Digest &family, XLogRecPtr moved_at, uint64 tick);
void begin_job(StringInfo json, const char *task, Oid generator);

// Has the registry work on the requests, an array of request_1; and asks, after its commit, what is
// granted: only that counts. Before a takeover, asks first what that displaces. Waits at most for
// shardid_lease.registry_timeout; ends the process if somebody wants to drop the database.
// REQUIRED: in the worker, outside of transactions.
Reply ask_registry(Datum address, const char *requests, bool takes_over);

// The same in a session's transaction, for at most this long. Can be canceled; raises errors of
// this server as they are.
Reply ask_registry_here(Datum address, const char *requests, int64 wait_ms);

// For PG_CATCH in the worker: ends the transaction, and returns what went wrong, in
// TopMemoryContext.
ErrorData *error_of_failed_transaction();

}  // namespace shardid
