/* One generator of contrib/portable/shardid.sql. Sessions take numbers of an open millisecond by nextval, without a
 * lock. The mark stores which millisecond is open. A millisecond is opened under a lock. Each nextval, each setval and
 * each read of a sequence or of the clock is a step; between two of them anything may happen.
 *
 * Checked: no id twice; each id above all that were told, and all that was raised, before its call began; none later
 * than an honest clock. */

#define SESSIONS 2
#define END 2 /* the last millisecond to which the clock comes */
#define COPIES 1 /* of the file, each with a mark of its own */
#define NUMBERS 5
#define GUARD 3
#define STARTS 2            /* the number of different first numbers of milliseconds; a power of 2 */
#define TRUST 1             /* how many milliseconds a mark counts */
#define RAISE 0 /* how often raise_generator is called */
#define MOVE 0 /* and setval by others */

/* What can happen in a search: 0 or, by -D, 1; and CRASH. */
#define HONEST 0 /* the clock runs forward, at any speed */
#define HONEST_AFTER 0 /* also over a crash */
#define NEXT_IDS 0 /* calls that go to shardid_draw_locked at once */
#define MOVE_WITHIN 0 /* moves back also within the open millisecond */
#define MOVE_BACK 0 /* no moves forward */
#define RESTORE 0 /* a dump of data alone */

/* The rule that is left out or put wrong, -DBUG=...; run.sh says what happens then. */
#define BUG 0
mtype:bug = { NO_LOCK, MARK_FIRST, MARK_AFTER, NO_CLOCK_AFTER, NO_GUARD, ANY_NUMBER, MOVED_AT_ONCE, SET_BELOW,
    BELOW_TICK, OPEN_ANY_MARK, HELD_UP, OLD_WAITS, OLD_WITHOUT_LOCK, WAIT_FOR_ANY, RAISE_SETS, NO_MESSAGE,
    RAISE_NO_MESSAGE };

#define USED (BUG == NO_GUARD -> 0 : GUARD) /* the first number that counts */
#define NONE 255
#define ms_of(tick) ((tick) / NUMBERS)
#define number_of(tick) ((tick) % NUMBERS)
#define first_of(ms) ((ms) * NUMBERS)
#define last_of(ms) ((ms) * NUMBERS + NUMBERS - 1)
#define start_in(ms, last) (first_of(ms) + GUARD + (((last) + 1) & (STARTS - 1)))

byte clock = 1;
byte last = NUMBERS - 1;    /* the generator's last_value */
byte mark[COPIES];
byte holder = NONE;         /* of the lock */
int told;                   /* ids, by their ticks */
byte highest;               /* the highest tick that was told or raised */
#define my_mark mark[me % COPIES]

byte raises;

#ifdef CRASH
#define RECORDS 3
#define AFTER 1             /* sessions after the crash */
#define AHEAD 1             /* how far nextval logs ahead */
#define MARK 128            /* a record of the mark */
byte wal[RECORDS];          /* records that are not flushed; if it is full, the oldest is flushed */
byte inserted;
byte flushed_last = NUMBERS - 1;
byte flushed_mark;
byte logged = NUMBERS - 1;
bit has_crashed;
int shown;                  /* ids whose transaction has committed */
byte highest_shown;

inline replay_first() {
    if :: wal[0] >= MARK -> flushed_mark = wal[0] - MARK :: else -> flushed_last = wal[0] fi;
    n = 1;
    do :: n < inserted -> wal[n - 1] = wal[n]; n++ :: else -> break od;
    inserted--;
    wal[inserted] = 0;
    n = 0
}

inline flush() {
    do :: inserted > 0 -> replay_first() :: else -> break od
}

inline insert(what) {
    if :: inserted == RECORDS -> replay_first() :: else fi;
    wal[inserted] = what;
    inserted++
}

inline set_generator(to) {
    last = to;
    logged = to;
    insert(to);
    has_logged = 1
}

inline set_mark(to) {
    my_mark = to;
    insert(MARK + to);
    has_logged = 1
}

inline take_next() {
    last++;
    if :: last > logged -> logged = last + AHEAD; insert(logged); has_logged = 1 :: else fi
}
#else
inline set_generator(to) { last = to }
inline set_mark(to) { my_mark = to }
inline take_next() { last++ }
#endif

/* Whether a value of nextval is an id. The clock may be behind the mark, if it was set back. */
#define counts (ms_of(tick) == ms && number_of(tick) >= USED && (clock <= ms || BUG == NO_CLOCK_AFTER))
#define is_old_now (clock > seen + TRUST && BUG != OLD_WAITS && BUG != HELD_UP)
#define is_below (tick != NONE && tick < first_of(ms) + USED)
#define is_old (seen + TRUST < now && !(old == seen && now > old_at))

/* shardid_draw_locked. */
#define is_marked (ms_of(found) == seen && (number_of(found) + 1 >= GUARD || BUG == ANY_NUMBER) && \
    now <= ms_of(found) + TRUST)
#define is_past (now > seen && now - seen <= TRUST)

/* The time to use: if the clock is behind, a time that a wait of a millisecond has earned. */
#define ends(found) (ms_of(found) + (number_of(found) >= GUARD -> 1 : 0))
#define earned (BUG != WAIT_FOR_ANY -> waited : (waited == ms_of(found) -> ends(found) : 0))
#define step ((waited != NONE && earned > now) -> earned : now)

inline tell(tick) {
    assert((told & (1 << tick)) == 0);
#ifndef ONLY_UNIQUE
    assert(tick > before);
    assert(!HONEST || ms_of(tick) <= clock);
#endif
    told = told | (1 << tick);
    if :: tick > highest -> highest = tick :: else fi
}

inline forget() {
    ms = 0;
    tick = 0;
    seen = 0;
    now = 0;
    old = NONE;
    old_at = 0;
    found = 0;
    waited = NONE;
    target = NONE
}

inline release() {
    if :: holder == me -> holder = NONE :: else fi
}

#define opens_above (BUG == BELOW_TICK -> first_of(now) + tick : first_of(seen + 1) + GUARD)
#define can_lock (holder == NONE || BUG == NO_LOCK)

inline lock() {
    holder = (BUG == NO_LOCK -> NONE : me)
}

proctype session(byte me) {
    byte before;        /* the highest tick before the call */
    byte ms;            /* the mark before nextval */
    byte tick;
    byte seen;          /* the mark, and then */
    byte now;           /* the clock */
    byte old = NONE;    /* an old mark, which only counts when the clock is later than now */
    byte old_at;
    byte found;         /* the generator's last_value */
    byte waited = NONE; /* the time that a wait has earned */
    byte target = NONE; /* of raise_generator */
#ifdef CRASH
    bit has_logged;     /* the transaction has written WAL */
    byte n;

    { true;
#endif

idle:
end:
    if
    :: atomic { BUG != MARK_AFTER -> before = highest; ms = my_mark };
       atomic { take_next(); tick = last }
    :: atomic { BUG == MARK_AFTER -> before = highest; take_next(); tick = last };
       ms = my_mark
    :: atomic { NEXT_IDS -> before = highest; goto locked } /* next_ids */
    :: atomic { raises < RAISE -> raises++; before = highest; target = last_of(1); goto locked }
    :: atomic { raises < RAISE && clock > 1 -> raises++; before = highest; target = last_of(2); goto locked }
    fi;
check:
    if :: atomic { counts -> goto got } :: else fi;

look:
    seen = my_mark;
    atomic {
        now = clock;
        if
        :: seen > now || is_below -> goto locked
        :: !(seen > now || is_below) && is_old && BUG != OLD_WAITS -> goto locked /* a second old */
        :: !(seen > now || is_below) && is_old && BUG != OLD_WAITS -> skip
        :: !(seen > now || is_below) && is_old && BUG == OLD_WAITS ->
           tick = NONE;
           if :: old == seen :: else -> old_at = now; old = seen fi;
           seen = 0;
           now = 0;
           goto look
        :: !(seen > now || is_below) && !is_old && seen < now -> skip
        :: !is_below && seen == now && seen > ms -> ms = seen; seen = 0; now = 0; goto again
        :: !is_below && seen == now && seen <= ms -> seen = 0; now = 0; goto look
        fi
    };

    tick = start_in(0, last);
    if
    :: atomic { can_lock -> lock() }
    :: atomic { !can_lock -> tick = NONE; seen = 0; now = 0; goto look }
    fi;
    if
    :: my_mark == seen || BUG == OPEN_ANY_MARK
    :: atomic { my_mark != seen && BUG != OPEN_ANY_MARK -> release(); tick = NONE; seen = 0; now = 0; goto look }
    fi;
    /* An old mark may be restored, and the generator with it: ids of this millisecond may exist. Wait with the lock. */
    if
    :: atomic { is_old_now -> now = clock; if :: BUG == OLD_WITHOUT_LOCK -> release() :: else fi }
    :: atomic { !is_old_now -> goto opens }
    fi;
    if
    :: atomic { clock > now -> now = clock }
    :: atomic { !HONEST && clock <= now && now < END -> now++ }
    :: goto cancelled
    fi;
opens:
    if
    :: last < opens_above || BUG == SET_BELOW
    :: atomic { last >= opens_above && BUG != SET_BELOW -> release(); goto locked }
    fi;
    atomic {
        now = (clock > now && BUG != HELD_UP -> clock : now);
        tick = first_of(now) + tick
    };
    goto open;

again:
    atomic { take_next(); tick = last; goto check };

locked:
    atomic {
        can_lock -> lock();
        ms = 0;
        tick = 0;
        old = NONE;
        old_at = 0;
        seen = 0;
        now = 0
    };
    found = last;
    seen = my_mark;
    atomic {
        now = clock;
        tick = start_in(0, found);
        if
        :: target == NONE && !is_marked && !is_past && found < last_of(now) && BUG != MOVED_AT_ONCE -> skip
        :: else -> goto decide
        fi
    };
    /* After a move by others it is unknown which ids of this millisecond exist: wait for the next one. */
    if :: atomic { seen == now -> set_generator(last_of(now)) } :: seen != now fi;
    if
    :: atomic { clock > now -> found = (last > last_of(now) -> last : last_of(now)) }
    :: atomic { !HONEST && clock <= now -> found = (last > last_of(now) -> last : last_of(now)) }
    :: goto cancelled
    fi;
    now = clock;
decide:
    atomic {
        seen = 0;
        if
        :: target != NONE -> now = 0;
           if
           :: found >= target && BUG != RAISE_SETS -> goto raised
           :: else -> tick = (found > target -> found : target)
           fi
        :: target == NONE && step > END -> goto cancelled /* at the end of the time */
        :: target == NONE && step <= END &&
           (step > ms_of(found) || (step == ms_of(found) && number_of(found) < GUARD)) ->
           tick = first_of(step) + tick; now = step
        :: target == NONE && step <= ms_of(found) && number_of(found) >= GUARD && number_of(found) < NUMBERS - 1 ->
           now = ms_of(found); goto join
        :: target == NONE && step <= ms_of(found) && !(step == ms_of(found) && number_of(found) < GUARD) &&
           !(number_of(found) >= GUARD && number_of(found) < NUMBERS - 1) ->
           tick = 0;
           release();
           goto wait
        fi;
        found = 0;
        waited = NONE
    };
    if
    :: target == NONE && last < tick
    :: target != NONE && last <= tick
    :: atomic { !(target == NONE && last < tick) && !(target != NONE && last <= tick) -> release(); goto locked }
    fi;

open:
    if
    :: atomic {
           true ->
           if :: BUG == MARK_FIRST && target == NONE -> set_mark(now) :: else -> set_generator(tick) fi
       }
    :: goto cancelled
    fi;
    if
    :: target != NONE -> goto raised
    :: atomic {
           target == NONE ->
           if :: BUG == MARK_FIRST -> set_generator(tick) :: else -> set_mark(now) fi
       }
    :: goto cancelled
    fi;
    goto got;

wait:
end_wait:
    atomic {
        clock > now || !HONEST;
        waited = (now < ms_of(found) -> (BUG == WAIT_FOR_ANY -> ms_of(found) : ends(found)) : NONE);
        now = 0;
        found = 0;
        goto locked
    };

join:
    if
    :: atomic {
           take_next();
           tick = last;
           if
           :: tick > found && ms_of(tick) == now -> found = 0; waited = NONE
           :: else -> found = 0; waited = NONE; release(); goto locked
           fi
       }
    :: goto cancelled
    fi;
    if :: atomic { set_mark(now); goto got } :: goto cancelled fi;

raised:
    atomic {
        release();
#ifdef CRASH
        goto commit
#else
        if :: target > highest && target != NONE -> highest = target :: else fi;
        before = 0;
        forget();
        goto idle
#endif
    };

got:
    atomic {
        tell(tick);
        release();
        before = 0;
#ifdef CRASH
        n = tick;
        forget();
        tick = n;
        n = 0
#else
        forget();
        goto idle
#endif
    };

#ifdef CRASH
commit:
    if
    :: atomic {
           if
           :: has_logged || BUG != (target == NONE -> NO_MESSAGE : RAISE_NO_MESSAGE) -> flush()
           :: else
           fi;
           if :: target == NONE -> shown = shown | (1 << tick) :: else -> tick = target fi;
           if :: tick > highest -> highest = tick :: else fi;
           if :: tick > highest_shown -> highest_shown = tick :: else fi;
           has_logged = 0;
           before = 0;
           forget();
           goto idle
       }
    :: atomic { has_logged = 0; before = 0; forget(); goto idle } /* rolled back */
    fi;
#endif

cancelled:
    atomic {
        release();
        before = 0;
        forget()
    };
end_stop:
    false
#ifdef CRASH
    } unless {
        atomic { has_crashed && me < SESSIONS -> before = 0; forget(); n = 0; has_logged = 0 }
    }
#endif
}

/* Real time. An honest clock runs forward at any speed; another one shows anything. */
proctype real_time() {
end:
    do
    :: clock < END -> clock++
    :: !HONEST && clock > 1 -> clock--
    od
}

/* setval by others, MOVE times: forward at most to the present millisecond, or back by more than a millisecond. */
proctype mover() {
    byte to, moves;
end:
    do
    :: atomic {
           moves < MOVE && ms_of(last) <= clock ->
           moves++;
           to = 0;
           do :: to < last_of(clock) -> to++ :: break od;
           if
           :: to + (MOVE_WITHIN -> 0 : NUMBERS) < last -> last = to
           :: !MOVE_BACK && to > last -> last = to
           :: else
           fi;
           to = 0
       }
    od
}

/* A dump of data alone, of time 0, is restored when its mark no longer counts: generator and mark, in either order. */
proctype restore() {
end:
    if
    :: atomic { clock > TRUST -> mark[0] = 0 };
       last = last_of(0)
    :: atomic { clock > TRUST -> last = last_of(0) };
       mark[0] = 0
    fi
}

#ifdef CRASH
/* Any part of the unflushed WAL is lost, and all sessions with their transactions. Uncommitted ids may come again. */
proctype crash() {
    byte n;
end:
    atomic {
        !has_crashed ->
        has_crashed = 1;
        do :: inserted > 0 -> replay_first() :: break od;
        do :: inserted > 0 -> inserted--; wal[inserted] = 0 :: else -> break od;
        last = flushed_last;
        logged = last;
        mark[0] = flushed_mark;
        told = shown;
        highest = highest_shown;
        clock = (HONEST_AFTER -> clock : 1);
        do :: !HONEST_AFTER && clock < END -> clock++ :: break od;
        holder = NONE;
        n = 0;
        do :: n < AFTER -> run session(n + SESSIONS); n++ :: else -> break od;
        n = 0
    }
}
#endif

init {
    byte n;
    atomic {
        do :: n < SESSIONS -> run session(n); n++ :: else -> break od;
        n = 0;
        run real_time();
        if :: MOVE -> run mover() :: else fi;
        if :: RESTORE -> run restore() :: else fi;
#ifdef CRASH
        run crash();
#endif
        skip
    }
}
