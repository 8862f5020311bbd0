/* settled_below: two sessions that insert rows with ids of one generator, a transaction that may be prepared, and a
 * reader, who reads the rows from its last bound up to the next. Checked: no row below a bound becomes visible after it
 * was read up to there, nor is logged after the bound was stored (so a standby has them before it); the bound never
 * decreases; each row is read once. After a move back, all this begins anew there. The clock may show any time: a draw
 * may take any tick above the last one. */

#define CRASHES 0
#define MOVES 0
#define NUMBERS 2 /* ticks of a time */
#define TIMES 3
#define PREPARE 0 /* the transaction that may be prepared; 0 or 1 */
#define ALTER 0 /* ALTER SEQUENCE ... CACHE */

/* The rule that is left out or put wrong, -DBUG=...; run.sh says what happens then. */
#define BUG 0
mtype:bug = { NOTES_FIRST, NOTE_AFTER_PAGE, PREPARED_IGNORED, OWN_IGNORED, ONE_STATEMENT, POSITION_LOST, ONE_NOTE,
    NOTE_OF_SUBTRANSACTION, LOCKS_RELEASED_FIRST, ALTER_AT_ONCE, OWN_CHANGE_UNNOTED, READER_UNLOCKED };

#define TICKS (NUMBERS * TIMES)
#define SLOTS 3
#define PREPARED 2 /* the slot of the prepared transaction */
#define NONE TIMES

#define time_of(tick) ((tick) / NUMBERS)
#define below(time) ((1 << ((time) * NUMBERS)) - 1)

byte last;    /* the page's */
byte durable; /* what a crash leaves of it at least */
bit locked;   /* the page */
bit noting = !ALTER; /* CACHE is above 1, as others than `altering` see it */
bit altering;        /* transaction 0 has the lock of ALTER SEQUENCE */
bit altered;         /* what it makes of `noting` */

/* Transactions. */
mtype = { open, note_late, record, flush, log, leave, release };
mtype at[SLOTS] = open;
bit has_drawn[SLOTS]; /* so it has locked the generator, to its end */
byte tick[SLOTS];     /* that is being drawn */
byte rows[SLOTS];
byte note[SLOTS] = NONE;  /* its earliest; this and the lock of ALTER SEQUENCE are locks */
byte known[SLOTS] = NONE; /* the note that the session remembers */

byte visible; /* rows of transactions that have left the running set */

mtype:read = { idle, position, notes, deliver };
mtype:read reader_at = idle;
byte snapshot;
byte settled;   /* of the call */
byte stored;    /* a bound whose transaction has committed */
byte bound;     /* up to which the rows are read */
byte delivered; /* rows */
byte crashes;
byte moves;

#define others_have_drawn ((has_drawn[1] || has_drawn[PREPARED]) && BUG != ALTER_AT_ONCE)
#define is_to_note(me) (BUG != OWN_CHANGE_UNNOTED -> noting || altering : (altering && me == 0 -> altered : noting))
#define is_noted(me) (BUG != ONE_NOTE -> known[me] <= time_of(tick[me]) : known[me] != NONE)
#define is_looked_at(slot) (slot != (BUG == PREPARED_IGNORED -> PREPARED : (BUG == OWN_IGNORED -> 0 : SLOTS)))

inline raise(what, to) {
    what = (what < to -> to : what)
}

inline lower(what, to) {
    what = (what > to -> to : what)
}

#define taken (visible | rows[0] | rows[1] | rows[2] | 1 << tick[0] | 1 << tick[1])
#define free (~taken & ~((2 << last) - 1) & (1 << TICKS) - 1)
#define may_take(which) (free & 1 << which)

inline make_note(me) {
    if
    :: is_to_note(me) && !is_noted(me) ->
       note[me] = time_of(tick[me]);
       known[me] = note[me]
    :: else
    fi
}

inline begin(me) {
    at[me] = open;
    has_drawn[me] = 0;
    tick[me] = 0;
    rows[me] = 0;
    note[me] = NONE;
    known[me] = NONE
}

/* A savepoint after the draw of the id, or before it: then the row is lost, and the note is not. */
inline insert(me) {
    if
    :: rows[me] = rows[me] | 1 << tick[me]
    :: true -> note[me] = (BUG == NOTE_OF_SUBTRANSACTION -> NONE : note[me])
    fi;
    tick[me] = 0;
    at[me] = open
}

/* RecordTransactionCommit; then ProcArrayEndTransaction; then ResourceOwnerRelease. */
inline log_commit(me) {
    assert((rows[me] & below(stored)) == 0);
    at[me] = leave
}

inline become_visible(me) {
    visible = visible | rows[me];
    rows[me] = 0;
    noting = (altering && me == 0 -> altered : noting);
    assert((visible & below(bound) & ~delivered) == 0)
}

inline end_locks(me) {
    altering = (me == 0 -> 0 : altering);
    altered = (altering -> altered : 0)
}

inline prepare(me) {
    has_drawn[PREPARED] = 1;
    rows[PREPARED] = rows[me];
    note[PREPARED] = note[me];
    begin(me)
}

/* Transactions that have generated no id have no part in this. */
inline take_step(me) {
    if
    :: atomic {
           at[me] == open && me != PREPARED && !locked && (!altering || me == 0) && free ->
           if
           :: may_take(1) -> tick[me] = 1
           :: may_take(2) -> tick[me] = 2
           :: may_take(3) -> tick[me] = 3
           :: may_take(4) -> tick[me] = 4
           :: may_take(5) -> tick[me] = 5
           :: may_take(6) -> tick[me] = 6
           :: may_take(7) -> tick[me] = 7
           fi;
           locked = 1;
           has_drawn[me] = 1;
           if :: BUG != NOTE_AFTER_PAGE -> make_note(me) :: else fi;
           at[me] = record
       }
    :: d_step {
           at[me] == record ->
           last = tick[me];
           locked = 0;
           at[me] = (BUG == NOTE_AFTER_PAGE -> note_late : flush)
       }
    :: d_step {
           at[me] == note_late ->
           make_note(me);
           at[me] = flush
       }
    :: atomic {
           at[me] == flush ->
           raise(durable, tick[me]);
           insert(me)
       }
    /* It is rolled back, also by an error after the draw. */
    :: d_step {
           at[me] == flush || at[me] == open && has_drawn[me] ->
           end_locks(me);
           begin(me)
       }
    :: d_step {
           PREPARE && at[me] == open && has_drawn[me] && me != PREPARED && !altering && !has_drawn[PREPARED] ->
           prepare(me)
       }
    :: d_step {
           at[me] == open && has_drawn[me] ->
           note[me] = (BUG == LOCKS_RELEASED_FIRST -> NONE : note[me]);
           log_commit(me)
       }
    :: d_step {
           at[me] == leave ->
           become_visible(me);
           at[me] = release
       }
    :: d_step {
           at[me] == release ->
           end_locks(me);
           begin(me)
       }
    fi
}

/* ALTER SEQUENCE ... CACHE in transaction 0, which may have generated ids before. */
inline alter() {
    altering = 1;
    altered = !noting;
    has_drawn[0] = 1
}

inline read_position() {
    lower(settled, time_of(last));
    raise(durable, (BUG == POSITION_LOST -> 0 : last))
}

inline read_notes() {
    n = 0;
    do
    :: n < SLOTS ->
       if :: is_looked_at(n) -> lower(settled, note[n]) :: else fi;
       n++
    :: else -> break
    od;
    n = 0
}

/* For its call, the reader has the lock of one who draws. */
#define may_read (!altering || BUG == READER_UNLOCKED)
#define is_reading ((reader_at == position || reader_at == notes) && BUG != READER_UNLOCKED)

inline take_look(at_notes) {
    if :: at_notes -> read_notes() :: else -> read_position() fi
}

inline deliver_rows() {
    snapshot = (BUG == ONE_STATEMENT -> snapshot : visible);
    assert(settled >= bound);
    assert((delivered & snapshot & below(settled) & ~below(bound)) == 0);
    delivered = delivered | snapshot & below(settled) & ~below(bound);
    bound = settled;
    assert((visible & below(bound) & ~delivered) == 0)
}

inline end_call() {
    reader_at = idle;
    snapshot = 0;
    settled = 0
}

inline read_step() {
    if
    :: d_step {
           reader_at == idle && noting && may_read ->
           snapshot = (BUG == ONE_STATEMENT -> visible : 0);
           settled = NONE;
           reader_at = position
       }
    :: d_step { reader_at == position && !locked -> take_look(BUG == NOTES_FIRST); reader_at = notes }
    :: d_step {
           reader_at == notes && !locked ->
           take_look(BUG != NOTES_FIRST);
           raise(stored, settled);
           reader_at = deliver
       }
    :: d_step { reader_at == deliver -> deliver_rows(); end_call() }
    fi
}

/* The last time is over, or waited for. */
inline close_time() {
    last = (time_of(last) + 1) * NUMBERS
}

/* The owner's setval. What was read after the new position is read again; a call under way promises nothing. */
inline move_to(to) {
    last = to;
    durable = to;
    lower(bound, time_of(to));
    lower(stored, time_of(to));
    delivered = delivered & below(bound);
    end_call();
    moves++
}

/* Commits that are logged are flushed. */
inline crash() {
    n = 0;
    do
    :: n < SLOTS ->
       if
       :: at[n] == leave -> become_visible(n); begin(n)
       :: at[n] != leave && (n != PREPARED || at[n] == release) -> begin(n)
       :: else
       fi;
       n++
    :: else -> break
    od;
    n = 0;
    locked = 0;
    altering = 0;
    altered = 0;
    end_call();
    crashes++
}

active proctype writer_0() {
end:
    do
    :: take_step(0)
    :: d_step { ALTER && at[0] == open && !altering && !others_have_drawn && !is_reading -> alter() }
    :: d_step { altering && at[0] == open -> end_locks(0) } /* ROLLBACK TO SAVEPOINT: its ids stay */
    od
}

active proctype writer_1() {
end:
    do :: take_step(1) od
}

active [PREPARE] proctype prepared() {
end:
    do
    :: take_step(PREPARED)
    od
}

active proctype reader() {
    byte n;
end:
    do :: read_step() :: d_step { !locked && !altering && time_of(last) + 1 < TIMES -> close_time() } od
}

active proctype others() {
    byte n;
end:
    do
    :: d_step { crashes < CRASHES -> crash(); last = durable }
    :: d_step { crashes < CRASHES -> crash(); durable = last }
    :: d_step { moves < MOVES && !locked && !altering && last > 1 -> move_to(1) }
    od
}
