/* One generator on one server: sessions that draw, WAL, the buffer and the file of the page, a
 * checkpointer and a background writer; crashes, promotion of a standby, a copied database.
 *
 * Checked: P1 (no tick is told twice; each that is drawn is above all told before), P2 (a tick is
 * told only when flushed WAL covers it), no deadlock; with -DLAYOUTS, that one storage tells ticks of
 * one layout only; with -DRAISE, that ticks drawn after raise_generator has returned are above its
 * argument. The clock may show any time: a draw may take any tick above the last one.
 *
 * Each process does one step at a time, and its next step is a global variable, so that a crash can
 * reset all processes at once. */

#define SESSIONS 2
#define TICKS 4 /* the last tick; no more than 14 */
#define AHEAD 2 /* how many ticks WAL is written ahead, at most */
#define CRASHES 2

/* What can happen in a search: 0 or, by -D, 1. */
#define LAYOUTS 0 /* each call draws with one of two layouts */
#define RAISE 0 /* raise_generator to any tick, by session 1; 2: repeatedly */
#define NEXTVAL 0 /* in core's order; nothing is promised about its own values */
#define RANGE 0 /* nextval_range up to any tick */
#define IMAGE 0 /* core logs an image of the page as it is, once, as for a hint bit */
#define PROMOTE 0 /* of a standby, which has a base backup and a part of the flushed WAL */
#define SYNC 0 /* draws wait for the standby */
#define SWITCH 0 /* synchronous_standby_names is set at some moment; who passed before is promised nothing */

/* The rule that is left out or put wrong, -DBUG=...; run.sh says what happens then. */
#define BUG 0
mtype:bug = { NO_FLUSH, FLUSH_OWN_ONLY, NO_REDO_RULE, DIRTY_AFTER_REDO_READ, NO_STAMP_RULE, NO_LOCK, KEEP_LOCK,
    SYNC_OF_LOGGERS, SYNC_BY_SESSION, QUEUE_BY_PAGE_LSN, BIND_WITHOUT_LOG, RAISE_FLUSH_ONLY,
    NO_TICK_RULE, NO_BEFORE_REDO_RULE, NO_WRITER_RULE, NO_NOTE_RULE, NO_RANGE_RULE };

/* The content of a page, or of the page in a WAL record. */
typedef Content {
    byte last;        /* last_value */
    byte bound;       /* how far beyond it log_cnt says that no WAL is due */
    bit stamped;      /* the stamp is this storage's */
    bit ours;         /* log_cnt is negative: the last draw was ours */
    unsigned layout:2 /* 0: none */
};

Content page; /* in its buffer */
byte page_lsn;
/* In its hole, which WAL does not have: the record that a draw has noted last, and the one before it, if the
 * page's LSN shows that nothing else was written in between. nextval_range notes its own as the one before. */
byte noted;
byte noted_to;
byte before;
byte before_to;
bit was_noted;
bit dirty;
bit locked; /* the lock on the buffer's content */

Content file; /* as the operating system has it */
Content disk; /* as it is after a loss of power */

/* A record's LSN is its index. Those that no recovery will read are dropped and the rest numbered
 * anew from 1, so the redo pointer of the last complete checkpoint is always 0. */
#if SYNC
#define MOST_RECORDS (2 * TICKS + 1)
#elif RAISE || IMAGE
#define MOST_RECORDS (TICKS + 2)
#else
#define MOST_RECORDS (TICKS + 1)
#endif
Content wal[MOST_RECORDS + 1];
byte inserted; /* LSN of the last record */
byte flushed;
byte redo;      /* Insert->RedoRecPtr, which insertions use */
byte redo_seen; /* XLogCtl->RedoRecPtr, its copy, which GetRedoRecPtr reads */

/* The next step of a session, and its local data. */
mtype:draw = { open_page, mark_dirty, ask_redo, log_state, close_page, flush_wal, wait_standby,
    in_queue, give, core_mark_dirty };
mtype:draw at[SESSIONS];
byte tick[SESSIONS];
byte up_to[SESSIONS];
bit logged[SESSIONS]; /* nothing to be logged */
byte seen[SESSIONS];  /* the redo pointer */
bit core[SESSIONS];   /* it is core's nextval */
byte layout[SESSIONS];
byte told_layout;     /* the layout of the ticks that this storage has told */
bit raises[SESSIONS]; /* it is raise_generator to the tick */
bit ranges[SESSIONS]; /* it is nextval_range */
byte raised;          /* the largest tick for which it has returned: later ones are above */

/* The next steps of the two processes that write the page. */
mtype:write = { idle, publish_redo, scan, take_lock, flush_first, write_file, sync_file, complete };
mtype:write checkpointer_at;
mtype:write writer_at;

/* What clients know. */
short told;   /* a bit for each tick */
byte covered; /* the largest value in flushed WAL */
byte crashes;

bit promoted = 1 - PROMOTE;
Content base;      /* the page in the standby's base backup */
byte acknowledged; /* the LSN up to which a session has waited for the standby */
bit must_wait = 1 - SWITCH; /* WalSndCtl->sync_standbys_defined */
bit exempt[SESSIONS];       /* nothing is promised: its check was before the setting was made */

#define may_lock (!locked || BUG == NO_LOCK)
#define has_stamp (page.stamped || BUG == NO_STAMP_RULE)
#define is_after(pointer) (page_lsn > pointer || BUG == NO_REDO_RULE)
#define is_noted (noted == page_lsn)

#define draws(me) (!core[me] && !raises[me] && !ranges[me])
#define is_last(me) ((ranges[me] -> before : noted) == page_lsn)
#define may_count(me) (is_last(me) || BUG == (ranges[me] -> NO_RANGE_RULE : NO_NOTE_RULE))
#define is_counted(me) (has_stamp && page.ours != ranges[me] && tick[me] <= page.bound && may_count(me))

/* What a record has to be for the tick, so that the one after it need not be waited for. */
#define covers(me) (tick[me] <= before_to || BUG == NO_TICK_RULE)
#define is_replayed(me) (before > seen[me] || BUG == NO_BEFORE_REDO_RULE)
#define is_early(me) (draws(me) && covers(me) && is_replayed(me))

/* The buffer is marked as dirty before the redo pointer is read. */
#define MARKS_FIRST (BUG != DIRTY_AFTER_REDO_READ)
#define after_both (logged[me] -> close_page : log_state)
#define after_opening (MARKS_FIRST -> mark_dirty : ask_redo)
#define after_marking (MARKS_FIRST -> ask_redo : after_both)
#define after_asking (MARKS_FIRST -> after_both : mark_dirty)

inline choose_between(what, least, most) {
    what = least;
    do :: what < most -> what++ :: break od
}

inline copy(to, from) {
    to.last = from.last;
    to.bound = from.bound;
    to.stamped = from.stamped;
    to.ours = from.ours;
    to.layout = from.layout
}

inline clear(content) {
    content.last = 0;
    content.bound = 0;
    content.stamped = 0;
    content.ours = 0;
    content.layout = 0
}

inline raise(what, to) {
    if :: what < to -> what = to :: else fi
}

inline flush(lsn) {
    raise(flushed, lsn);
    if :: flushed > 0 -> raise(covered, wal[flushed].last) :: else fi
}

/* Numbers an LSN anew. */
inline count_from_redo(lsn) {
    if :: lsn > redo -> lsn = lsn - redo :: else -> lsn = 0 fi
}

inline forget(me) {
    tick[me] = 0;
    up_to[me] = 0;
    logged[me] = 0;
    seen[me] = 0;
    core[me] = 0;
    layout[me] = 0;
    raises[me] = 0;
    ranges[me] = 0;
    exempt[me] = 0;
    at[me] = open_page
}

/* Any tick after the last: the result of `advance` with any clock. */
inline choose_tick(me) {
    tick[me] = page.last + 1;
    do :: tick[me] < TICKS -> tick[me]++ :: break od
}

/* A draw with another layout than the page's is refused and has no effect. */
inline choose_layout(me) {
    if
    :: !LAYOUTS
    :: LAYOUTS && page.layout != 2 -> layout[me] = 1
    :: LAYOUTS && page.layout != 1 -> layout[me] = 2
    fi
}

inline bind_layout(me) {
    if :: !core[me] -> page.layout = layout[me] :: else fi
}

/* XLogInsert and PageSetLSN: the page as it will be when all ticks that are logged ahead are drawn. How far that is
 * depends on the clock. When half of it is used up, the next record is due. */
inline insert_record(me) {
    page.bound = tick[me];
    do
    :: !raises[me] && page.bound < TICKS && page.bound < tick[me] + AHEAD -> page.bound++
    :: break
    od;
    inserted++;
    copy(wal[inserted], page);
    wal[inserted].last = page.bound;
    if
    :: draws(me) ->
       if
       :: was_noted || BUG == NO_WRITER_RULE -> before = noted; before_to = noted_to
       :: else -> before = 0; before_to = 0
       fi;
       noted = inserted;
       noted_to = page.bound;
       page.bound = tick[me] + (page.bound - tick[me] + 1) / 2
    :: ranges[me] -> noted = 0; noted_to = 0; before = inserted; before_to = 0
    :: else
    fi;
    page_lsn = inserted
}

/* An XLOG_NOOP of the session's own, flushed; replay ignores it. Core's queue of waiters must not
 * contain an LSN twice. */
inline join_queue(me) {
    if
    :: BUG != QUEUE_BY_PAGE_LSN ->
       inserted++;
       copy(wal[inserted], wal[inserted - 1]);
       up_to[me] = inserted;
       flush(inserted)
    :: else
    fi;
    k = 0;
    do
    :: k < SESSIONS ->
       assert(at[k] != in_queue || up_to[k] != up_to[me]);
       k++
    :: else -> break
    od;
    k = 0;
    at[me] = in_queue
}

inline leave_page(me) {
    up_to[me] = (is_early(me) -> before : page_lsn);
    seen[me] = 0;
    locked = locked && BUG == KEEP_LOCK;
    if :: core[me] -> forget(me) :: else -> at[me] = flush_wal fi
}

/* It may be repeated, with -DRAISE=2, and log each time: bounded, so that the search ends. */
#define may_raise(me) (RAISE && me == 1 && (raised == 0 || RAISE == 2) && inserted + TICKS - page.last < MOST_RECORDS)

/* raise_generator(): as durable as a draw, also if the page is already that far. A page that is not
 * ours is logged each time. */
inline open_to_raise(me) {
    locked = 1;
    raises[me] = 1;
    choose_between(tick[me], 1, TICKS);
    choose_layout(me);
    at[me] = after_opening;
    if
    :: tick[me] <= page.last ->
       tick[me] = page.last;
       if :: BUG == RAISE_FLUSH_ONLY -> leave_page(me) :: else fi
    :: else
    fi
}

inline tell_tick(me) {
#ifndef ONLY_UNIQUE
    assert(covered >= tick[me]); /* P2 */
#endif
    assert((told & (1 << tick[me])) == 0); /* P1, no tick twice */
    told = told | (1 << tick[me]);
    assert(told_layout == 0 || told_layout == layout[me]);
    told_layout = layout[me]
}

inline tell(me) {
    if
    :: raises[me] -> raise(raised, tick[me])
    :: exempt[me]
    :: else -> tell_tick(me)
    fi
}

/* draw_tick(). A wait for the clock changes nothing that others can see; clock.pml is about it. */
inline take_step(me) {
    if
    :: at[me] == open_page && may_lock && page.last < TICKS ->
       locked = 1;
       choose_tick(me);
       choose_layout(me);
       if :: RANGE -> ranges[me] = 1 :: true fi;
       at[me] = after_opening;
#ifndef ONLY_UNIQUE
       assert((told >> tick[me]) == 0); /* P1, in order */
       assert(tick[me] > raised)
#endif
    :: at[me] == mark_dirty ->
       dirty = 1;
       at[me] = after_marking
    /* A session's own copy of the redo pointer, which GetRedoRecPtr reads too, is newer than the
     * shared copy if one of its insertions has read the authoritative one. */
    :: at[me] == ask_redo ->
       if :: seen[me] = redo_seen :: seen[me] = redo fi;
       logged[me] = is_counted(me) && is_after(seen[me]);
       at[me] = after_asking
    :: at[me] == log_state ->
       was_noted = has_stamp && page.ours && is_noted;
       if
       :: core[me] -> page.ours = 0
       :: ranges[me] -> page.stamped = 1; page.ours = 0
       :: raises[me] /* ours or not, as it was */
       :: else -> page.stamped = 1; page.ours = 1
       fi;
       if :: BUG != BIND_WITHOUT_LOG -> bind_layout(me) :: else fi;
       insert_record(me);
       was_noted = 0;
       bind_layout(me);
       at[me] = close_page
    :: at[me] == close_page ->
       page.last = tick[me];
       leave_page(me)
    :: at[me] == flush_wal ->
       if :: BUG != NO_FLUSH && (BUG != FLUSH_OWN_ONLY || !logged[me]) -> flush(up_to[me]) :: else fi;
       at[me] = (promoted -> give : wait_standby)
    :: at[me] == wait_standby ->
       if
       :: !must_wait -> exempt[me] = 1; at[me] = give
       :: SYNC && must_wait && acknowledged >= up_to[me] -> at[me] = give
       :: SYNC && must_wait && acknowledged < up_to[me] -> join_queue(me)
       :: must_wait && BUG == SYNC_BY_SESSION -> at[me] = give /* the session's copy of the setting is an older one */
       :: !SYNC ->
          if :: BUG == SYNC_OF_LOGGERS && !logged[me] -> raise(acknowledged, up_to[me]) :: else fi;
          at[me] = give
       fi
    :: at[me] == in_queue ->
       raise(acknowledged, up_to[me]);
       at[me] = give
    :: at[me] == give ->
       tell(me);
       forget(me)
    /* It fails or is cancelled after the draw. */
    :: at[me] == flush_wal || at[me] == give || at[me] == wait_standby || at[me] == in_queue ->
       forget(me)
    /* Core's nextval_internal reads the redo pointer before it marks the buffer; nothing is
     * promised about its values. It does not trust a negative log_cnt. */
    :: NEXTVAL && at[me] == open_page && may_lock && page.last < TICKS ->
       locked = 1;
       core[me] = 1;
       tick[me] = page.last + 1;
       logged[me] = !page.ours && tick[me] <= page.bound && page_lsn > redo_seen;
       at[me] = core_mark_dirty
    :: at[me] == core_mark_dirty ->
       dirty = 1;
       at[me] = after_both
    :: at[me] == open_page && may_lock && may_raise(me) -> open_to_raise(me)
    fi
}

/* SyncOneBuffer and FlushBuffer: WAL first, then the page. Any of the versions that were written may
 * be the last one that has reached the disk. */
inline take_write_step(who_at, after) {
    if
    :: who_at == take_lock && may_lock ->
       locked = 1;
       who_at = flush_first
    :: who_at == flush_first ->
       flush(page_lsn);
       who_at = write_file
    :: who_at == write_file ->
       if
       :: dirty ->
          if :: copy(disk, file) :: true fi;
          copy(file, page);
          dirty = 0
       :: else
       fi;
       locked = 0;
       who_at = after
    fi
}

/* Drops the records up to the redo pointer. */
inline drop_old_wal() {
    k = 1;
    do
    :: k + redo <= inserted -> copy(wal[k], wal[k + redo]); k++
    :: k + redo > inserted && k <= inserted -> clear(wal[k]); k++
    :: k > inserted -> break
    od;
    k = 0;
    do :: k < SESSIONS -> count_from_redo(up_to[k]); count_from_redo(seen[k]); k++ :: else -> break od;
    k = 0;
    count_from_redo(page_lsn);
    count_from_redo(noted);
    count_from_redo(before);
    flushed = flushed - redo;
    inserted = inserted - redo;
    redo = 0;
    redo_seen = 0
}

/* CreateCheckPoint and BufferSync. Without new WAL there is no checkpoint. */
inline take_checkpoint_step() {
    if
    :: checkpointer_at == idle && promoted && (dirty || inserted > 0) ->
       redo = inserted;
       checkpointer_at = publish_redo
    :: checkpointer_at == publish_redo ->
       redo_seen = redo;
       checkpointer_at = scan
    :: checkpointer_at == scan ->
       checkpointer_at = (dirty -> take_lock : sync_file)
    :: take_write_step(checkpointer_at, sync_file)
    :: checkpointer_at == sync_file ->
       copy(disk, file);
       checkpointer_at = complete
    /* Its own record, flushed, and the control file. */
    :: checkpointer_at == complete ->
       flush(inserted);
       drop_old_wal();
       checkpointer_at = idle
    fi
}

inline stop_all() {
    k = 0;
    do :: k < SESSIONS -> forget(k); k++ :: else -> break od;
    k = 0;
    checkpointer_at = idle;
    writer_at = idle;
    locked = 0
}

inline empty_wal() {
    do :: inserted > 0 -> clear(wal[inserted]); inserted-- :: else -> break od;
    flushed = 0;
    redo = 0;
    redo_seen = 0;
    page_lsn = 0;
    noted = 0;
    noted_to = 0;
    before = 0;
    before_to = 0;
    covered = 0;
    dirty = 0
}

/* The file is that of the operating system, or that of the disk; a part of the unflushed WAL may
 * exist. Each record overwrites the page, so only the last one matters. After the checkpoint at the
 * end of recovery there is nothing to replay. */
inline crash() {
    stop_all();
    if :: copy(page, file) :: copy(page, disk) fi;
    choose_between(k, flushed, inserted);
    if :: k > 0 -> copy(page, wal[k]) :: else fi;
    k = 0;
    empty_wal();
    copy(file, page);
    copy(disk, page)
}

/* The standby has its base backup and a part of the flushed WAL, and no checkpoint of its own. It
 * continues from there, also without a checkpoint. */
inline promote() {
    stop_all();
    choose_between(k, acknowledged, flushed);
    if :: k > 0 -> copy(page, wal[k]) :: else -> copy(page, base) fi;
    empty_wal();
    copy(file, base);
    copy(disk, base);
    if
    :: k > 0 ->
       inserted = 1;
       copy(wal[1], page);
       flush(1);
       page_lsn = 1;
       dirty = 1
    :: else
    fi;
    k = 0;
    acknowledged = 0;
    promoted = 1;
#ifdef LOSSY
    /* Only the ids above what the standby has are not promised. */
    told = told & ((1 << (page.last + 1)) - 1)
#endif
}

proctype session(byte me) {
    byte k;
end:
    do :: atomic { take_step(me) } od
}

proctype checkpointer() {
    byte k;
end:
    do :: atomic { take_checkpoint_step() } od
}

proctype writer() {
end:
    do
    :: atomic { writer_at == idle && dirty -> writer_at = take_lock }
    :: atomic { take_write_step(writer_at, idle) }
    od
}

proctype image() {
end:
    atomic {
        may_lock && promoted ->
        inserted++;
        copy(wal[inserted], page);
        page_lsn = inserted;
        dirty = 1
    }
}

proctype fault() {
    byte k;
end:
    do
    :: atomic { crashes < CRASHES && promoted -> crashes++; crash() }
    :: atomic { !promoted -> promote() }
    od
}

/* synchronous_standby_names is set and read again. */
proctype setting() {
end:
    atomic { !must_wait -> must_wait = 1 }
}

/* If no process can continue, every tick has been drawn. */
proctype watch() {
end:
    timeout;
    assert(page.last == TICKS && !locked && checkpointer_at == idle && writer_at == idle)
}

init {
    byte n;
    atomic {
        page.stamped = 1;
        copy(base, page);
#ifdef COPY
        acknowledged = 1;
        /* CREATE DATABASE ... TEMPLATE: a record of the whole page, with the original's stamp,
         * count of logged values and layout. Ticks that the original has told are told. */
        page.last = 1;
        page.bound = 1 + AHEAD;
        page.stamped = 0;
        page.ours = 1;
        page.layout = LAYOUTS;
        told_layout = LAYOUTS;
        inserted = 1;
        copy(wal[1], page);
        page_lsn = 1;
        noted = 1;
        noted_to = page.bound;
        dirty = 1;
        told = 1 << 1;
#endif
        copy(file, page);
        copy(disk, page);
        checkpointer_at = idle;
        writer_at = idle;
        do :: n < SESSIONS -> forget(n); run session(n); n++ :: else -> break od;
        n = 0;
        if :: SWITCH -> run setting() :: else fi;
        if :: IMAGE -> run image() :: else fi;
        run checkpointer();
        run writer();
        run fault();
        run watch()
    }
}
