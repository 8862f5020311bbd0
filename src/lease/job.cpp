#include "lease/job.h"

#include "engine/sequence.h"
#include "engine/settings.h"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace shardid {

namespace {

// Not inside a character.
template <int room>
void copy(char (&to)[room], const char *from) {
    const char *text = from == nullptr ? "" : from;
    const int length = pg_mbcliplen(text, static_cast<int>(strlen(text)), room - 1);
    strlcpy(to, text, static_cast<Size>(length) + 1);
}

}  // namespace

void tell(const Job &job, int level, int sqlstate, const char *message, const char *detail,
          const char *hint) {
    if (job.call == nullptr)
        return;
    WorkerCall *call = job.call;
    call->level = level;
    call->sqlstate = sqlstate;
    copy(call->message, message);
    copy(call->detail, detail);
    copy(call->hint, hint);
}

void tell_error(const Job &job, const ErrorData *error) {
    if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
        tell(job, ERROR, error->sqlerrcode,
             psprintf("could not wait for %s within %d ms", job.waits_for, registry_timeout_ms),
             nullptr, "Call it again when that has ended; pg_locks shows what it waits for.");
    else
        tell(job, ERROR, error->sqlerrcode, error->message, error->detail, error->hint);
}

LeasedRow row_of_task(const Job &job, Membership least, Membership most, const char *hint) {
    LeasedRow row;
    if (!read_leased_row(job.task.generator, &row) || row.state < least || row.state > most)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" holds no lease", shown_name(job.task.generator)),
                        errhint("%s", hint)));
    return row;
}

}  // namespace shardid
