/* One generator and its clock: callers that wait for the next millisecond; fresh storage by ALTER
 * SEQUENCE ... RESTART, committed or rolled back. Every draw is durable here: wal.pml is about that.
 *
 * The clock shows anything at every look (default), or runs forward at any speed (-DHONEST).
 * Checked: P1; P3, with an honest clock; P5, at most one step ahead of the clock for a millisecond
 * that really passes; and that no caller waits for ever: it looks at the same used up time a
 * limited number of times, whatever the clock does. README.md lists what can be put wrong by -D. */

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
#define LAST_CLOCK ((END + 1) * MICROS)
#define MOST_LOOKS (2 * MICROS + 1)

byte last;     /* the page's tick */
bit drawn; /* was_drawn_from */
short told;    /* a bit for each tick */
byte passed;   /* real microseconds since the generator's time last changed, MICROS at most */

mtype = { look, doze, sleep, stop };
mtype at[SESSIONS];
byte seen[SESSIONS];  /* the clock at the latest look */
byte found[SESSIONS]; /* the time that this look found used up */
/* Wait and Vigil. Real time is counted to MICROS, which is all that matters. */
bit began[SESSIONS];
byte used_up[SESSIONS];
byte start[SESSIONS];
byte latest[SESSIONS];
byte since[SESSIONS];
byte waited[SESSIONS];
byte left[SESSIONS]; /* of this sleep */
byte looks[SESSIONS];

#ifdef HONEST
byte clock;
byte lead; /* of the last tick's time over the clock */
#endif
#ifdef RESTART
bit altering; /* session 0 is in the transaction of an ALTER SEQUENCE */
bit altered;
byte old_last;
bit old_drawn;
#endif

inline forget(me) {
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

/* last_tick(): fresh storage goes on after the time in which the caller first saw it. */
inline find_last(me) {
    from = last;
#ifndef NO_FRESH_WAIT
    if
    :: !drawn ->
       first_seen = (began[me] -> used_up[me] : now);
       if
       :: first_seen * NUMBERS + NUMBERS - 1 > from -> from = first_seen * NUMBERS + NUMBERS - 1
       :: else
       fi
    :: else
    fi
#endif
}

#ifdef NO_REAL_WAIT
#define has_waited true
#else
#define has_waited (waited[me] >= MICROS)
#endif
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

inline check_time(time) {
#if !defined(ONLY_UNIQUE) && !defined(ONLY_P1)
    /* P5 */
    assert(time <= now || time == last / NUMBERS || passed >= MICROS);
#ifdef HONEST
    /* P3: never ahead of the clock, or no further than before */
    assert(time <= now || time - now <= lead);
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
    :: altering && old_last < last -> old_last = last + NUMBERS; old_drawn = 1
    :: else
    fi
#else
    skip
#endif
}

inline give(me) {
    assert((told & (1 << tick)) == 0); /* P1, no tick twice */
#ifndef ONLY_UNIQUE
    assert((told >> tick) == 0); /* P1, in order */
#endif
    told = told | (1 << tick);
    check_time(tick / NUMBERS);
    last = tick;
    drawn = 1;
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
    :: else -> forget(me); at[me] = stop
    fi;
    reading = 0; now = 0; from = 0; first_seen = 0; earned = 0; time = 0; tick = 0
}

/* wait_for_next(): begin_vigil or look_again, sleep_us. */
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

/* Who draws inside the transaction that altered has the sequence for itself. */
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

/* Real time goes by, at any moment. */
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

#ifdef RESTART
#ifdef RESTART_AHEAD
#define is_behind_clock true
#elif defined(HONEST)
#define is_behind_clock (last / NUMBERS <= clock / MICROS)
#else
#define is_behind_clock true
#endif
#define is_unused(me) (at[me] == stop || at[me] == look && !began[me])
#if SESSIONS == 2
#define are_others_unused is_unused(1)
#else
#define are_others_unused (is_unused(1) && is_unused(2))
#endif

/* New storage; no caller is in a transaction with a lock on the sequence. */
proctype ddl() {
end:
    do
    :: atomic {
           !altered && is_unused(0) && are_others_unused && is_behind_clock ->
           old_last = last;
           old_drawn = drawn;
           last = 0;
           drawn = 0;
           altered = 1;
           altering = 1
       }
    :: atomic { altering && is_unused(0) -> altering = 0; old_last = 0; old_drawn = 0 } /* commit */
    :: atomic { /* roll back */
           altering && is_unused(0) ->
           last = old_last;
           drawn = old_drawn;
#ifdef HONEST
           /* What is remembered is ahead of the clock. */
           lead = (last / NUMBERS > clock / MICROS -> last / NUMBERS - clock / MICROS : 0);
#endif
           altering = 0;
           old_last = 0;
           old_drawn = 0
       }
    od
}
#endif

init {
    byte n;
    atomic {
#ifndef FRESH
        drawn = 1;
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
        run ddl()
#endif
    }
}
