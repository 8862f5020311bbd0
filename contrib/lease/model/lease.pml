/* One leased shard of an id space: its registry, a member, and another server, which becomes the member's copy or
 * is a stranger. Messages to the registry and back are lost or late. Clocks show any time at every look. wal.pml
 * is about durability, clock.pml about steps of the clock.
 *
 * An id is its time, one per time. Checked: L1, no time is drawn twice; L2, a lease that has neither expired nor
 * been given up is granted only to its holder, or to the same place; no deadlock. README.md lists the errors that
 * -D makes. */

#ifndef END /* the last time that is drawn */
#define END 2
#endif
#ifndef INCARNATIONS
#define INCARNATIONS 3
#endif
#ifndef LEASE
#define LEASE 1
#endif
#define NONE 0
#define NEVER (END + 1) /* any time that is too late to be drawn */

/* Incarnations are numbered in the order of their beginning. A server's start or new storage begins an incarnation
 * and a family of them; a move of the page begins an incarnation in the storage's family. */
byte begun;
byte family[INCARNATIONS + 1];
bit at[INCARNATIONS + 1]; /* the server, which is its place */

/* Server 0 is the original. Server 1 does not exist until it is copied. */
#define SERVERS 2
bit runs[SERVERS];
bit is_stranger;     /* server 1 is of another origin */
byte base[SERVERS];  /* the first incarnation of the present family */
byte moved[SERVERS]; /* moved by others since the last draw: the incarnation whose window the page needs */
byte next[SERVERS];  /* the first time after the last one drawn */
byte row[SERVERS];   /* the lease row: the window's incarnation, and the window */
byte row_from[SERVERS];
byte row_until[SERVERS];

/* Two sessions, with the window that each keeps. */
#define SESSIONS 2
#ifdef ONE_SERVER
#define server_of(session) 0
#else
#define server_of(session) session
#endif
byte kept[SESSIONS];
byte kept_from[SESSIONS];
byte kept_until[SESSIONS];
bit entered[SESSIONS]; /* it has drawn in this window, and can draw at once */

/* The registry. */
byte holder;
byte from;
byte until;
bit given_up; /* released or evicted */


/* A request on its way, and the answer that each server's worker waits for or has received. */
byte asks;
byte wanted;
bit is_takeover;
bit is_heard; /* the worker waits for the answer */
byte told[SERVERS];
byte told_from[SERVERS];
byte told_until[SERVERS];

byte drawn; /* a bit for each time */
byte time;

#ifdef TRUST_ROW
#define is_current(incarnation, s) (incarnation != NONE)
#else
#define is_current(incarnation, s) (incarnation != NONE && family[incarnation] == base[s])
#endif

/* Whether a window of this incarnation may be used on the page as it is now. */
#ifdef MOVED_KEEPS_WINDOW
#define fits(incarnation, s) is_current(incarnation, s)
#else
#define fits(incarnation, s) (is_current(incarnation, s) && (moved[s] == NONE || moved[s] == incarnation))
#endif

#ifdef NO_UNTIL
#define is_in(time, k) (time <= END)
#else
#define is_in(time, k) (time < kept_until[k])
#endif

inline raise(what, to) {
    if
    :: what < to -> what = to
    :: else
    fi
}

inline any_time() {
    if
    :: time = 0
    :: time = 1
#if END > 1
    :: time = 2
#endif
#if END > 2
    :: time = END
#endif
    fi
}

inline clear(who, what, to) {
    who = NONE;
    what = 0;
    to = 0
}

inline forget_sessions(s) {
    if
    :: server_of(0) == s -> clear(kept[0], kept_from[0], kept_until[0]); entered[0] = 0
    :: else
    fi;
    if
    :: server_of(1) == s -> clear(kept[1], kept_from[1], kept_until[1]); entered[1] = 0
    :: else
    fi
}

inline end_worker(s) {
    clear(told[s], told_from[s], told_until[s]);
    if
    :: asks != NONE && at[asks] == s -> is_heard = 0
    :: else
    fi
}

inline begin_incarnation(s, kin) {
    begun++;
    at[begun] = s;
    family[begun] = kin
}

/* From now on the row is that of an older family. */
inline begin_family(s) {
    begin_incarnation(s, begun); /* the new one */
    base[s] = begun;
    forget_sessions(s);
    end_worker(s);
#ifndef TRUST_ROW
    clear(row[s], row_from[s], row_until[s])
#endif
}

/* Under the page's lock. The clock shows any time. */
inline draw(k, s) {
    raise(time, next[s]);
    raise(time, kept_from[k]);
    if
    :: time <= END && is_in(time, k) ->
        assert(!(drawn & (1 << time)));
        drawn = drawn | (1 << time);
        next[s] = time + 1;
        moved[s] = NONE;
        entered[k] = 1
    :: else
    fi;
    time = 0
}

/* Without reading the window's start: earlier draws in the window are on the page, if that is still ours. */
inline draw_at_once(k, s) {
    raise(time, next[s]);
    if
    :: time <= END && is_in(time, k) ->
        assert(!(drawn & (1 << time)));
        drawn = drawn | (1 << time);
        next[s] = time + 1
    :: else
    fi;
    time = 0
}

#ifdef AT_ONCE_UNENTERED
#define may_at_once(k, s) (is_current(kept[k], s) && moved[s] == NONE)
#else
#define may_at_once(k, s) (entered[k] && is_current(kept[k], s) && moved[s] == NONE)
#endif

/* With a snapshot of its own. */
inline read_row(k, s) {
    if
    :: is_current(row[s], s) ->
        if
        :: kept[k] != row[s] || kept_from[k] != row_from[s] -> entered[k] = 0
        :: else
        fi;
        kept[k] = row[s];
        kept_from[k] = row_from[s];
        kept_until[k] = row_until[s]
    :: else -> clear(kept[k], kept_from[k], kept_until[k]); entered[k] = 0
    fi
}

/* A request for the page as a session has seen it. */
inline ask(s, forced) {
    if
    :: moved[s] != NONE -> asks = moved[s]
    :: moved[s] == NONE && row[s] != NONE && family[row[s]] == base[s] -> asks = row[s]
    :: else -> asks = base[s]
    fi;
    wanted = time;
    is_takeover = forced;
    is_heard = 1;
    time = 0
}

#define same_origin(one, other) (!is_stranger || at[one] == at[other])

#define is_holder (holder == asks && !given_up)

#define is_free (holder == NONE || given_up || at[asks] == at[holder])

#define may_take(expired) (is_free || expired || is_takeover)

inline limit(what) {
    if
    :: what > NEVER -> what = NEVER
    :: else
    fi
}

inline forget_request() {
    clear(asks, wanted, is_takeover);
    is_heard = 0
}

inline reply() {
    if
    :: is_heard ->
        told[at[asks]] = asks;
        told_from[at[asks]] = from;
        told_until[at[asks]] = until
    :: else
    fi;
    forget_request()
}

/* Rules 2 to 4. Expired: by the registry's clock, for the holder's origin; or long ago, for every member. (Rule 1
 * only refuses more.) */
inline grant(expired) {
    if
    :: is_holder ->
        raise(until, wanted + LEASE);
        limit(until);
        reply()
    :: else ->
        if
        :: may_take(expired) ->
            assert(holder == NONE || given_up || expired || is_takeover || at[asks] == at[holder]);
            from = (until > wanted -> until : wanted);
            until = from + LEASE;
            limit(until);
            holder = asks;
            given_up = 0;
            reply()
        :: else -> forget_request()
        fi
    fi
}

inline write_row(s) {
    row[s] = told[s];
    row_from[s] = told_from[s];
    row_until[s] = told_until[s];
    clear(told[s], told_from[s], told_until[s])
}

/* The window stays this incarnation's: sessions that keep it, and an answer that comes later, may use it. */
inline release(s, reaches) {
    if
    :: reaches && holder == row[s] && !given_up ->
        given_up = 1;
#ifdef RELEASE_SHORTENS
        if
        :: moved[s] == NONE -> until = next[s]; raise(until, from)
        :: else
        fi
#endif
    :: else
    fi;
    clear(row[s], row_from[s], row_until[s])
}


inline set_back(s) {
    if
    :: time < next[s] -> next[s] = time
    :: else
    fi;
    time = 0
}

#define is_member(s) (runs[s] && row[s] != NONE && family[row[s]] == base[s])

init {
    d_step {
        runs[0] = 1;
        begin_family(0);
        moved[0] = base[0] /* fresh storage */
    }
    do
    :: atomic { fits(kept[0], server_of(0)) -> any_time(); d_step { draw(0, server_of(0)) } }
    :: atomic { fits(kept[1], server_of(1)) -> any_time(); d_step { draw(1, server_of(1)) } }
    :: atomic { may_at_once(0, server_of(0)) -> any_time(); d_step { draw_at_once(0, server_of(0)) } }
    :: atomic { may_at_once(1, server_of(1)) -> any_time(); d_step { draw_at_once(1, server_of(1)) } }
    :: d_step { runs[server_of(0)] -> read_row(0, server_of(0)) }
    :: d_step { runs[server_of(1)] -> read_row(1, server_of(1)) }

    :: atomic { asks == NONE && told[0] == NONE -> any_time(); d_step { ask(0, 0) } }
    :: atomic { asks == NONE && told[1] == NONE && runs[1] -> any_time(); d_step { ask(1, 0) } }
    :: atomic { asks == NONE && told[1] == NONE && runs[1] -> any_time(); d_step { ask(1, 1) } }
    :: d_step { asks != NONE -> grant(0) }
    :: d_step { asks != NONE -> grant(1) }
    :: d_step { asks != NONE -> forget_request() }
    :: d_step { asks != NONE && is_heard -> is_heard = 0 }
    :: d_step { told[0] != NONE -> write_row(0) }
    :: d_step { told[1] != NONE -> write_row(1) }
    :: d_step { told[0] != NONE -> clear(told[0], told_from[0], told_until[0]) }
    :: d_step { told[1] != NONE -> clear(told[1], told_from[1], told_until[1]) }

    /* release_shard, whose message may be lost; one that arrives later, or evict_shard */
    :: d_step { is_member(0) -> release(0, 1) }
    :: d_step { is_member(0) -> release(0, 0) }
    :: d_step { is_member(1) -> release(1, 1) }
    :: d_step { holder != NONE && !given_up -> given_up = 1 }


    /* setval; RESTART; a restart of the server, perhaps with an older page: point-in-time recovery, in place */
    :: atomic { begun < INCARNATIONS -> any_time();
        d_step { begin_incarnation(0, base[0]); moved[0] = begun; next[0] = time; time = 0 } }
    :: d_step { begun < INCARNATIONS -> begin_family(0); moved[0] = base[0]; next[0] = 0 }
    :: atomic { begun < INCARNATIONS -> any_time();
        d_step { begin_family(0); moved[0] = (moved[0] != NONE -> base[0] : NONE); set_back(0) } }

    /* A copy, perhaps of an older state; or a stranger, with a page of its own. */
    :: atomic { begun < INCARNATIONS && !runs[1] -> any_time();
        d_step {
            runs[1] = 1;
            begin_family(1);
            moved[1] = (moved[0] != NONE -> base[1] : NONE);
            next[1] = next[0];
            set_back(1);
#ifdef TRUST_ROW
            row[1] = row[0];
            row_from[1] = row_from[0];
            row_until[1] = row_until[0]
#endif
        } }
    :: d_step { begun < INCARNATIONS && !runs[1] -> runs[1] = 1; is_stranger = 1; begin_family(1); moved[1] = base[1] }
    od
}
