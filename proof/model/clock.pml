/* One generator and its clock: callers that wait for the next millisecond; fresh storage by ALTER
 * SEQUENCE ... RESTART, committed or rolled back; setval and nextval at any moment; raise_generator;
 * callers that borrow time, as far ahead of the clock as -DBORROW says.
 * Every draw is durable here: wal.pml is about that.
 *
 * The clock shows any time at every look (default), or runs forward at any speed (-DHONEST).
 * Checked: P1; P3, with an honest clock; P5, at most one step ahead of the clock for each millisecond
 * that really passes; a further step borrows, from a time all of whose ids are told and no further
 * ahead than allowed; no caller waits for ever: it looks at the same used up time a limited number of
 * times, whatever the clock does; and ids that are drawn after raise_generator have a later time than
 * its id. README.md lists the errors that -D makes. */

#ifndef SESSIONS
#define SESSIONS 2
#endif
#ifndef MICROS /* microseconds in a millisecond */
#define MICROS 2
#endif
#ifndef END /* the last time; no more than 6 */
#define END 3
#endif
#define NUMBERS 2 /* of a time: one bit of sequence, so a new time begins at 0 */
#define LAST_TICK ((END + 1) * NUMBERS - 1)
#define LAST_CLOCK ((END + 1) * MICROS)
#define MOST_LOOKS (2 * MICROS + 1)

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
byte used_up[SESSIONS];
byte start[SESSIONS];
byte latest[SESSIONS];
byte since[SESSIONS];
byte waited[SESSIONS];
byte left[SESSIONS]; /* microseconds that are left of this sleep */
byte looks[SESSIONS];

#ifdef HONEST
byte clock;
byte lead; /* how far the last tick's time is ahead of the clock */
#endif
#ifdef RESTART
bit altering; /* session 0 is in the transaction of an ALTER SEQUENCE */
bit altered;
byte old_last;
bit old_stamped;
mtype:count old_log_cnt;
#endif
#if defined(RAISE) || defined(ELSEWHERE)
byte raised_to; /* the first time that may still be drawn */
#endif
#ifdef ELSEWHERE
short told_by[SESSIONS]; /* each session draws for the shard with its number */
#endif

/* Whether the page is as our own latest draw left it. */
#ifdef MOVED_BY_LOG_CNT_ZERO
#define is_ours (stamped && log_cnt != zero)
#else
#define is_ours (stamped && log_cnt == minus)
#endif

#define has_seen_count(me) ((count_seen & (1 << me)) != 0)

/* Without the count, a page that is not ours at two looks counts as moved once. */
inline count_taking() {
#ifndef NO_COUNT_RULE
    count_seen = 0
#else
    skip
#endif
}

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
    if
    :: what < to -> what = to
    :: else
    fi
}

inline read_clock() {
#ifdef HONEST
    reading = clock
#else
    reading = 0;
    do
    :: reading < LAST_CLOCK -> reading++
    :: break
    od
#endif
}

/* last_tick(): a page that knows nothing of the present time - fresh storage, or moved by others -
 * continues after the time in which the caller first saw it so. If it was ahead of the clock then, it
 * may be moved back before the next look, once the clock has caught up: then that time is over, too. */
inline find_last(me) {
    from = last;
    if
    :: is_ours -> count_seen = count_seen & ~(1 << me); first[me] = 0; page_first[me] = 0
#ifdef NO_FRESH_WAIT
    :: !is_ours && !stamped
    :: !is_ours && stamped ->
#else
    :: !is_ours ->
#endif
       if
       :: began[me] && has_seen_count(me) ->
          first_seen = first[me];
#ifndef NO_AHEAD_RULE
          if
          :: page_first[me] <= now -> raise(first_seen, page_first[me])
          :: else
          fi
#endif
       :: else ->
          first_seen = now; first[me] = now; began[me] = 0;
          page_first[me] = (last / NUMBERS > now -> last / NUMBERS : 0)
       fi;
       count_seen = count_seen | (1 << me);
       raise(from, last_of(first_seen))
    fi
}

#define has_waited (waited[me] >= MICROS)
#ifdef NO_STILL_RULE
#define stands_still false
#else
#define stands_still (reading <= latest[me])
#endif
#ifdef OVERTAKE
#define has_moved true
#else
#define has_moved (reading >= start[me] + MICROS)
#endif
#ifdef KEEP_EARNED
#define is_same_wait true
#else
#define is_same_wait (used_up[me] == from / NUMBERS)
#endif

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
#ifdef BORROW
#ifdef BORROW_EARLY
#define is_used_up true
#else
#define is_used_up (from % NUMBERS == NUMBERS - 1)
#endif
#ifdef BORROW_WITHOUT_LIMIT
#define is_near true
#else
#define is_near (from / NUMBERS + 1 <= now + BORROW)
#endif
#ifdef BORROW_WHEN_MOVED
#define knows_present true
#else
#define knows_present is_ours
#endif
#define may_borrow (is_used_up && is_near && knows_present)
#define has_borrowed(time) (time <= now + BORROW && (told & (1 << last_of(time - 1))) != 0)
#else
#define has_borrowed(time) false
#endif

inline check_time(time) {
#if !defined(ONLY_UNIQUE) && !defined(ONLY_P1)
    /* P5; for a page that others have moved ahead, the wait may have been earlier */
    assert(time <= now || time == last / NUMBERS || passed >= MICROS || moved_ahead ||
           has_borrowed(time));
#ifdef HONEST
    /* P3: never ahead of the clock, or no further than before; unless others have moved it ahead */
    assert(time <= now || time - now <= lead || moved_ahead || has_borrowed(time));
    lead = (time > now -> time - now : 0);
#endif
#endif
    if
    :: time != last / NUMBERS -> passed = 0
    :: else
    fi
}

/* remember_in_replaced_storage(): ahead, as WAL is written ahead. */
inline remember() {
#if defined(RESTART) && !defined(NO_REMEMBER)
    if
    :: altering && old_last < last ->
       old_last = last + NUMBERS;
       old_stamped = 1;
       old_log_cnt = minus
    :: else
    fi
#else
    skip
#endif
}

inline check_tick(me) {
#ifdef ELSEWHERE
    assert((told_by[me] & (1 << tick)) == 0); /* P1, no id twice */
    told_by[me] = told_by[me] | (1 << tick);
#else
    assert((told & (1 << tick)) == 0); /* P1, no tick twice */
#endif
#ifndef ONLY_UNIQUE
    assert((told >> tick) == 0); /* P1, in order */
#if defined(RAISE) || defined(ELSEWHERE)
    assert(raised_to <= tick / NUMBERS);
#endif
#endif
    told = told | (1 << tick)
}

inline give(me) {
#ifndef ONLY_WAITS
    check_tick(me);
    check_time(tick / NUMBERS);
#endif
    last = tick;
    if
    :: !is_ours -> count_taking()
    :: else
    fi;
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
#ifdef BORROW
    :: time <= from / NUMBERS && from / NUMBERS < END && may_borrow ->
       tick = (from / NUMBERS + 1) * NUMBERS; give(me)
#endif
    :: else -> forget(me); at[me] = stop
    fi;
    reading = 0; now = 0; from = 0; first_seen = 0; earned = 0; time = 0; tick = 0
}

/* wait_for_next(): begin_wait or look_again, sleep_us. */
inline fall_asleep(me) {
    if
    :: began[me] && used_up[me] == found[me] ->
       looks[me]++;
       assert(looks[me] <= MOST_LOOKS);
#ifndef NO_START_RESET
       if
       :: seen[me] < start[me] -> start[me] = seen[me]
       :: else
       fi
#endif
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
#ifdef HONEST
#define is_over(me) (left[me] == 0 && clock > latest[me])
#else
#define is_over(me) (left[me] == 0)
#endif

/* The transaction that has altered the sequence is the only one that can draw. */
#ifdef RESTART
#define may_call(me) (!altering || me == 0)
#else
#define may_call(me) true
#endif

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
              if
              :: began[k] && since[k] < MICROS -> since[k]++
              :: else
              fi;
              if
              :: left[k] > 0 -> left[k]--
              :: else
              fi;
              k++
           :: else -> break
           od;
           k = 0;
           if
           :: passed < MICROS -> passed++
           :: else
           fi;
#ifdef HONEST
           if
           :: true
           :: clock < LAST_CLOCK -> clock++
           :: clock + 2 <= LAST_CLOCK -> clock = clock + 2
           fi
#endif
       }
    od
}

#ifdef MOVE_AHEAD
#define may_move true
#elif defined(HONEST)
#define may_move (last / NUMBERS <= clock / MICROS)
#else
#define may_move true
#endif
#define is_unused(me) (at[me] == stop || at[me] == look && !began[me])
#if SESSIONS == 2
#define are_others_unused is_unused(1)
#else
#define are_others_unused (is_unused(1) && is_unused(2))
#endif

/* setval undoes a raise: then only the uniqueness of ticks is promised. */
inline forget_raise() {
#ifdef RAISE
    raised_to = 0
#else
    skip
#endif
}

inline measure_lead() {
#ifdef HONEST
    lead = (last / NUMBERS > clock / MICROS -> last / NUMBERS - clock / MICROS : 0);
    moved_ahead = moved_ahead || lead > 0
#else
    skip
#endif
}

#ifdef MOVE
#ifdef RESTART
#define may_touch (!altering || is_unused(0))
#else
#define may_touch true
#endif

/* setval and nextval. Their locks do not exclude a caller that waits. */
proctype mover() {
    byte to;
end:
    do
    /* do_setval: log_cnt = 0. */
    :: atomic {
           may_move && may_touch ->
           do
           :: to < LAST_TICK -> to++
           :: break
           od;
           last = to;
           log_cnt = zero;
           forget_raise();
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
#endif

#if defined(RAISE) || defined(ELSEWHERE)
#ifdef RAISE_MAY_LOWER
#define may_lower true
#else
#define may_lower false
#endif

/* raise_generator(): the page stays ours, or not ours; a page that is not ours is logged each time. */
inline raise_to(time) {
    if
    :: last < last_of(time) || may_lower -> last = last_of(time)
    :: else
    fi;
#ifdef RAISE_MAKES_OURS
    stamped = 1;
    log_cnt = minus;
#else
    log_cnt = (log_cnt == minus -> minus : zero);
#endif
    measure_lead();
    raise(raised_to, time + 1)
}
#endif

#ifdef RAISE
proctype raiser() {
    byte time;
end:
    do
    :: atomic {
           true;
           do
           :: time < END -> time++
           :: break
           od;
           raise_to(time);
           time = 0
       }
    od
}
#endif

#ifdef ELSEWHERE
/* Of ids of one time, the highest is the last one of the highest shard. */
inline find_highest(id, shard) {
    id = LAST_TICK;
    do
    :: id > 0 && (told & (1 << id)) == 0 -> id--
    :: else -> break
    od;
    shard = SESSIONS - 1;
    do
    :: (told_by[shard] >> (id / NUMBERS * NUMBERS)) == 0 -> shard--
    :: else -> break
    od;
    do
    :: (told_by[shard] & (1 << id)) == 0 -> id--
    :: else -> break
    od
}

/* The rows go to another server, with another clock and a fresh generator, which is raised to the
 * highest id before the first draw. */
proctype migration() {
    byte k, id;
end:
    atomic {
        told != 0 ->
        do
        :: k < SESSIONS -> forget(k); k++
        :: else -> break
        od;
        last = 0;
        stamped = 0;
        log_cnt = zero;
        passed = 0;
        clock = 0;
        do
        :: clock < LAST_CLOCK -> clock++
        :: break
        od;
        measure_lead();
        find_highest(id, k);
#ifdef RAISE_TO_OWN_TICK
        last = id;
#else
        raise_to(id / NUMBERS);
#endif
        k = 0;
        id = 0
    }
}
#endif

#ifdef RESTART
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
           !altered && is_unused(0) && are_others_unused && may_move ->
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
#endif

init {
    byte n;
    atomic {
#ifdef FRESH
        log_cnt = zero;
#else
        stamped = 1;
        log_cnt = minus;
#endif
#ifdef AHEAD_AT_START
        /* As after a crash: WAL was written ahead. */
        last = AHEAD_AT_START * NUMBERS + NUMBERS - 1;
#ifdef HONEST
        lead = AHEAD_AT_START;
#endif
#endif
        do
        :: n < SESSIONS -> forget(n); run session(n); n++
        :: else -> break
        od;
        n = 0;
        run real_time();
#ifdef RESTART
        run ddl();
#endif
#ifdef MOVE
        run mover();
#endif
#ifdef RAISE
        run raiser();
#endif
#ifdef ELSEWHERE
        run migration();
#endif
        skip
    }
}
