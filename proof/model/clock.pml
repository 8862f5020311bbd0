/* One generator and its clock: callers that wait for the next millisecond; fresh storage by ALTER
 * SEQUENCE ... RESTART, committed or rolled back; setval and nextval at any moment; raise_generator;
 * callers that borrow time, as far ahead of the clock as -DBORROW says; crashes, of which it is looked
 * at here how far they take the generator.
 * Every draw is durable here: wal.pml is about that.
 *
 * The clock shows any time at every look (default), or runs forward at any speed (-DHONEST).
 * Checked: P1; P3, with an honest clock; P5, at most one step ahead of the clock for each millisecond
 * that really passes; a further step borrows, from a time all of whose ids are told and no further
 * ahead than allowed; after any number of crashes it is not so far ahead that nothing can be drawn from
 * it; no caller waits for ever: it looks at the same used up time a limited number of
 * times, whatever the clock does; and ids that are drawn after raise_generator have a later time than
 * its id. */

#define SESSIONS 2
#define MICROS 2 /* microseconds in a millisecond */
#define END 3 /* the last time; no more than 6 */
#define BORROW 0 /* how far ahead of the clock callers may borrow */
#define AHEAD_AT_START 0 /* how far ahead of the clock the generator begins */

/* What can happen in a search: 0 or, by -D, 1. */
#define HONEST 0 /* the clock runs forward, at any speed */
#define FRESH 0 /* the generator is new */
#define RESTART 0 /* ALTER SEQUENCE ... RESTART by session 0 */
#define MOVE 0 /* setval and nextval, any number of times */
#define MOVE_AHEAD 0 /* setval and RESTART also while the generator is ahead of the clock */
#define RAISE 0 /* raise_generator to any millisecond */
#define ELSEWHERE 0 /* the rows go to another server */
#define CRASHES 0 /* the server crashes, any number of times */

/* The rule that is left out or put wrong, -DBUG=...; run.sh says what happens then. */
#define BUG 0
mtype:bug = { KEEP_EARNED, OVERTAKE, NO_STILL_RULE, NO_START_RESET, NO_FRESH_WAIT, NO_REMEMBER, NO_COUNT_RULE,
    MOVED_BY_LOG_CNT_ZERO, RAISE_MAKES_OURS, RAISE_MAY_LOWER, RAISE_TO_OWN_TICK, BORROW_WITHOUT_LIMIT, BORROW_EARLY,
    BORROW_WHEN_MOVED, NO_AHEAD_RULE, CRASHES_ADD_UP, PAST_MAX_LEAD };

#define NUMBERS 2 /* of a time: one bit of sequence, so a new time begins at 0 */
#define LAST_TICK ((END + 1) * NUMBERS - 1)
#define LAST_CLOCK ((END + 1) * MICROS)
#define MOST_LOOKS (2 * MICROS + 1)
/* In times: how far WAL is written ahead of the clock, and of a generator that is ahead; shardid.max_lead. */
#define LOGGED_AHEAD 2
#define LOGGED_FURTHER 1
#define MAX_LEAD 3

/* The page. Our draws leave a negative log_cnt, setval leaves zero, nextval zero or more. */
mtype:count = { minus, zero, plus };
byte last;
bit stamped;
mtype:count log_cnt;
/* How often a draw has made the page ours, by what is asked about it: a bit for each caller that has
 * seen this very count, on a page that was not ours, at its latest look. */
byte count_seen;
bit moved_ahead; /* others have moved the generator ahead of the clock */
byte first[SESSIONS]; /* the clock at the first of these looks */
byte page_first[SESSIONS]; /* and the page's time then, if it was ahead */

short told;  /* a bit for each tick */
byte passed; /* real microseconds since the generator's time last changed, MICROS at most */

mtype:step = { look, doze, sleep, stop };
mtype:step at[SESSIONS];
byte seen[SESSIONS];  /* the clock at the latest look */
byte found[SESSIONS]; /* the time that this look found used up */
/* A Waiter and its Wait. Real time is counted to MICROS, which is all that matters. */
bit began[SESSIONS];
byte used_up[SESSIONS], start[SESSIONS], latest[SESSIONS], since[SESSIONS], waited[SESSIONS], looks[SESSIONS];
byte left[SESSIONS]; /* microseconds that are left of this sleep */

/* An honest clock, and how far the last tick's time is ahead of it. */
byte clock, lead;
byte logged; /* the tick to which WAL is written */
bit altering; /* session 0 is in the transaction of an ALTER SEQUENCE */
bit altered;
byte old_last;
bit old_stamped;
mtype:count old_log_cnt;
byte raised_to; /* the first time that may still be drawn */
short told_by[SESSIONS]; /* each session draws for the shard with its number */

/* Whether the page is as our own latest draw left it. */
#define is_ours (stamped && (log_cnt == minus || BUG == MOVED_BY_LOG_CNT_ZERO && log_cnt == plus))
#define has_seen_count(me) ((count_seen & (1 << me)) != 0)

inline forget(me) {
    count_seen = count_seen & ~(1 << me);
    first[me] = 0;
    page_first[me] = 0;
    began[me] = 0;
    used_up[me] = 0;
    start[me] = 0;
    latest[me] = 0;
    since[me] = 0;
    waited[me] = 0;
    left[me] = 0;
    looks[me] = 0;
    seen[me] = 0;
    found[me] = 0;
    at[me] = look
}

#define last_of(time) ((time) * NUMBERS + NUMBERS - 1)

inline raise(what, to) {
    if :: what < to -> what = to :: else fi
}

inline read_clock() {
    reading = clock;
    do :: !HONEST && reading < LAST_CLOCK -> reading++ :: break od
}

/* last_tick(): a page that knows nothing of the present time - fresh storage, or moved by others -
 * continues after the time in which the caller first saw it so. If it was ahead of the clock then, it
 * may be moved back before the next look, once the clock has caught up: then that time is over, too. */
inline find_last(me) {
    from = last;
    if
    :: is_ours -> count_seen = count_seen & ~(1 << me); first[me] = 0; page_first[me] = 0
    :: !is_ours && !stamped && BUG == NO_FRESH_WAIT
    :: !is_ours && (stamped || BUG != NO_FRESH_WAIT) ->
       if
       :: began[me] && has_seen_count(me) ->
          first_seen = first[me];
          if :: page_first[me] <= now && BUG != NO_AHEAD_RULE -> raise(first_seen, page_first[me]) :: else fi
       :: else ->
          first_seen = now; first[me] = now; began[me] = 0;
          page_first[me] = (last / NUMBERS > now -> last / NUMBERS : 0)
       fi;
       count_seen = count_seen | (1 << me);
       raise(from, last_of(first_seen))
    fi
}

#define has_waited (waited[me] >= MICROS)
#define stands_still (reading <= latest[me] && BUG != NO_STILL_RULE)
#define has_moved (reading >= start[me] + MICROS || BUG == OVERTAKE)
#define is_same_wait (used_up[me] == from / NUMBERS || BUG == KEEP_EARNED)

/* earned_time(), may_step(). */
inline find_earned(me) {
    earned = 0;
    if
    :: began[me] && is_same_wait && has_waited && (stands_still || has_moved) ->
       earned = from / NUMBERS + 1
    :: else
    fi
}

/* advance_or_borrow(). */
#define is_used_up (from % NUMBERS == NUMBERS - 1 || BUG == BORROW_EARLY)
#define is_near (from / NUMBERS + 1 <= now + BORROW || BUG == BORROW_WITHOUT_LIMIT)
#define may_borrow (BORROW && is_used_up && is_near && (is_ours || BUG == BORROW_WHEN_MOVED))
#define has_borrowed(time) (BORROW && time <= now + BORROW && (told & (1 << last_of(time - 1))) != 0)

/* logged_to(); `time` is that of the tick, and now is not later. */
inline write_ahead(time) {
    if
    :: CRASHES && tick > logged ->
       logged = (time - now + LOGGED_FURTHER <= LOGGED_AHEAD -> now + LOGGED_AHEAD :
                time + LOGGED_FURTHER);
       if :: logged > now + MAX_LEAD && BUG != PAST_MAX_LEAD -> logged = now + MAX_LEAD :: else fi;
       logged = (BUG == CRASHES_ADD_UP -> time + LOGGED_AHEAD : logged) * NUMBERS;
       raise(logged, tick);
       if :: logged > LAST_TICK -> logged = LAST_TICK :: else fi
    :: else
    fi
}

inline check_time(time) {
#if !defined(ONLY_UNIQUE) && !defined(ONLY_P1)
    /* P5; for a page that others have moved ahead, the wait may have been earlier */
    assert(time <= now || time == last / NUMBERS || passed >= MICROS || moved_ahead ||
           has_borrowed(time));
    /* P3: never ahead of the clock, or no further than before; unless others have moved it ahead */
    assert(!HONEST || time <= now || time - now <= lead || moved_ahead || has_borrowed(time));
    lead = (HONEST && time > now -> time - now : 0);
#endif
    if :: time != last / NUMBERS -> passed = 0 :: else fi
}

/* remember_in_replaced_storage(): ahead, as WAL is written ahead. */
inline remember() {
    if
    :: altering && old_last < last && BUG != NO_REMEMBER ->
       old_last = last + NUMBERS;
       old_stamped = 1;
       old_log_cnt = minus
    :: else
    fi
}

inline check_tick(me) {
    assert(((ELSEWHERE -> told_by[me] : told) & (1 << tick)) == 0); /* P1: no tick twice, or no id */
    told_by[me] = told_by[me] | (ELSEWHERE << tick);
#ifndef ONLY_UNIQUE
    assert((told >> tick) == 0); /* P1, in order */
    assert(raised_to <= tick / NUMBERS);
#endif
    told = told | (1 << tick)
}

inline give(me) {
#ifndef ONLY_WAITS
    check_tick(me);
    check_time(tick / NUMBERS);
#endif
    write_ahead(tick / NUMBERS);
    last = tick;
    /* Without the count, a page that is not ours at two looks counts as moved once. */
    if :: !is_ours && BUG != NO_COUNT_RULE -> count_seen = 0 :: else fi;
    stamped = 1;
    log_cnt = minus;
    remember();
    forget(me)
}

/* draw_tick(): try_draw, decide, advance. */
inline look_at_page(me) {
    read_clock();
    now = reading / MICROS;
    find_last(me);
    find_earned(me);
    time = (now > earned -> now : earned);
    if
    :: time > from / NUMBERS && time > END -> forget(me); at[me] = stop
    :: time > from / NUMBERS && time <= END -> tick = time * NUMBERS; give(me)
    :: time <= from / NUMBERS && from % NUMBERS < NUMBERS - 1 && from < (END + 1) * NUMBERS ->
       tick = from + 1; give(me)
    :: time <= from / NUMBERS && from % NUMBERS == NUMBERS - 1 && from / NUMBERS < END ->
       seen[me] = reading;
       found[me] = from / NUMBERS;
       at[me] = doze
    :: time <= from / NUMBERS && from / NUMBERS < END && may_borrow ->
       tick = (from / NUMBERS + 1) * NUMBERS; give(me)
    :: else -> forget(me); at[me] = stop
    fi;
    reading = 0; now = 0; from = 0; first_seen = 0; earned = 0; time = 0; tick = 0
}

/* wait_for_next(): begin_wait or continue_wait, sleep_us. */
inline fall_asleep(me) {
    if
    :: began[me] && used_up[me] == found[me] ->
       looks[me]++;
       assert(looks[me] <= MOST_LOOKS);
       if :: seen[me] < start[me] && BUG != NO_START_RESET -> start[me] = seen[me] :: else fi
    :: else ->
       began[me] = 1;
       used_up[me] = found[me];
       start[me] = seen[me];
       since[me] = 0;
       looks[me] = 0
    fi;
    latest[me] = seen[me];
    if
    :: seen[me] / MICROS >= used_up[me] -> left[me] = (seen[me] / MICROS + 1) * MICROS - seen[me]
    :: seen[me] / MICROS < used_up[me] && seen[me] > start[me] && seen[me] < start[me] + MICROS ->
       left[me] = MICROS - (seen[me] - start[me])
    :: else -> left[me] = MICROS
    fi;
    seen[me] = 0;
    found[me] = 0;
    at[me] = sleep
}

/* A sleep and a look last long enough for a running clock to move. */
#define is_over(me) (left[me] == 0 && (clock > latest[me] || !HONEST))

/* The transaction that has altered the sequence is the only one that can draw. */
#define may_call(me) (!altering || me == 0)

proctype session(byte me) {
    byte reading, now, from, first_seen, earned, time, tick;
end:
    do
    :: atomic { at[me] == look && (began[me] || may_call(me)) -> look_at_page(me) }
    :: atomic { at[me] == doze -> fall_asleep(me) }
    :: atomic { at[me] == sleep && is_over(me) -> waited[me] = since[me]; at[me] = look }
    :: atomic { at[me] == sleep -> forget(me) } /* cancelled */
    od
}

/* Real time passes, at any moment. */
proctype real_time() {
    byte k;
end:
    do
    :: atomic {
           true;
           do
           :: k < SESSIONS ->
              if :: began[k] && since[k] < MICROS -> since[k]++ :: else fi;
              if :: left[k] > 0 -> left[k]-- :: else fi;
              k++
           :: else -> break
           od;
           k = 0;
           if :: passed < MICROS -> passed++ :: else fi;
           if
           :: true
           :: HONEST && clock < LAST_CLOCK -> clock++
           :: HONEST && clock + 2 <= LAST_CLOCK -> clock = clock + 2
           fi
       }
    od
}

#define may_move (last / NUMBERS <= clock / MICROS || !HONEST || MOVE_AHEAD)
#define is_unused(me) (at[me] == stop || at[me] == look && !began[me])

inline measure_lead() {
    lead = (HONEST && last / NUMBERS > clock / MICROS -> last / NUMBERS - clock / MICROS : 0);
    moved_ahead = moved_ahead || lead > 0
}

#define may_touch (!altering || is_unused(0))

/* setval and nextval. Their locks do not exclude a caller that waits. */
proctype mover() {
    byte to;
end:
    do
    /* do_setval: log_cnt = 0. */
    :: atomic {
           may_move && may_touch ->
           do :: to < LAST_TICK -> to++ :: break od;
           last = to;
           log_cnt = zero;
           raised_to = 0; /* setval undoes a raise: then only the uniqueness of ticks is promised */
           measure_lead();
           to = 0
       }
    /* nextval_internal */
    :: atomic {
           last < LAST_TICK && may_touch ->
           if
           :: log_cnt = plus
           :: log_cnt == plus
           :: log_cnt == plus -> log_cnt = zero
           fi;
           last++;
           measure_lead()
       }
    od
}

/* raise_generator(): the page stays ours, or not ours; a page that is not ours is logged each time. */
inline raise_to(time) {
    if :: last < last_of(time) || BUG == RAISE_MAY_LOWER -> last = last_of(time) :: else fi;
    stamped = stamped || BUG == RAISE_MAKES_OURS;
    log_cnt = (log_cnt == minus || BUG == RAISE_MAKES_OURS -> minus : zero);
    measure_lead();
    raise(raised_to, time + 1)
}

proctype raiser() {
    byte time;
end:
    do
    :: atomic {
           true;
           do :: time < END -> time++ :: break od;
           raise_to(time);
           time = 0
       }
    od
}

/* Of ids of one time, the highest is the last one of the highest shard. */
inline find_highest(id, shard) {
    id = LAST_TICK;
    do :: id > 0 && (told & (1 << id)) == 0 -> id-- :: else -> break od;
    shard = SESSIONS - 1;
    do :: (told_by[shard] >> (id / NUMBERS * NUMBERS)) == 0 -> shard-- :: else -> break od;
    do :: (told_by[shard] & (1 << id)) == 0 -> id-- :: else -> break od
}

/* The rows go to another server, with another clock and a fresh generator, which is raised to the
 * highest id before the first draw. */
proctype migration() {
    byte k, id;
end:
    atomic {
        told != 0 ->
        do :: k < SESSIONS -> forget(k); k++ :: else -> break od;
        last = 0;
        stamped = 0;
        log_cnt = zero;
        passed = 0;
        clock = 0;
        do :: clock < LAST_CLOCK -> clock++ :: break od;
        measure_lead();
        find_highest(id, k);
        raise_to(id / NUMBERS);
        last = (BUG == RAISE_TO_OWN_TICK -> id : last);
        k = 0;
        id = 0
    }
}

/* What is logged ahead, a recovery takes for drawn. */
proctype crash() {
    byte k;
end:
    do
    :: atomic {
           logged != 0 ->
           do :: k < SESSIONS -> forget(k); k++ :: else -> break od;
           k = 0;
           last = logged;
           passed = 0;
           lead = (last / NUMBERS > clock / MICROS -> last / NUMBERS - clock / MICROS : 0);
           assert(lead <= MAX_LEAD)
       }
    od
}

inline forget_old() {
    old_last = 0;
    old_stamped = 0;
    old_log_cnt = 0
}

/* New storage; no caller is in a transaction with a lock on the sequence. */
proctype ddl() {
end:
    do
    :: atomic {
           !altered && is_unused(0) && is_unused(1) && is_unused(SESSIONS - 1) && may_move ->
           old_last = last;
           old_stamped = stamped;
           old_log_cnt = log_cnt;
           last = 0;
           stamped = 0;
           log_cnt = zero;
           altered = 1;
           altering = 1
       }
    :: atomic { altering && is_unused(0) -> altering = 0; forget_old() } /* commit */
    :: atomic { /* roll back */
           altering && is_unused(0) ->
           last = old_last;
           stamped = old_stamped;
           log_cnt = old_log_cnt;
           measure_lead(); /* what is remembered is ahead of the clock */
           altering = 0;
           forget_old()
       }
    od
}

init {
    byte n;
    atomic {
        stamped = !FRESH;
        log_cnt = (FRESH -> zero : minus);
        /* As after a crash: WAL was written ahead. */
        last = (AHEAD_AT_START -> AHEAD_AT_START * NUMBERS + NUMBERS - 1 : 0);
        lead = HONEST * AHEAD_AT_START;
        do :: n < SESSIONS -> forget(n); run session(n); n++ :: else -> break od;
        n = 0;
        run real_time();
        if :: RESTART -> run ddl() :: else fi;
        if :: MOVE -> run mover() :: else fi;
        if :: RAISE -> run raiser() :: else fi;
        if :: ELSEWHERE -> run migration() :: else fi;
        if :: CRASHES -> run crash() :: else fi
    }
}
