/* One leased shard of an id space whose registry is copied, restored and failed over, while members send requests to
 * it or to a copy. A request may be late; answers are lost. lease.pml is about a member's page: here an incarnation
 * uses any time of its last window, at any moment.
 *
 * Checked: L1, no time is used by two incarnations; L2, without take_over_shard a running lease goes to no other place,
 * nor an idle one to a copy; R9, only a join or take_over_shard, sent afterwards, makes a released or evicted shard
 * held; a space stops only if something was lost; registry_was_restored() does not push on for ever; with -DTWINS, two
 * servers in one place do not displace each other for ever. README.md lists the errors that -D makes. */

#ifndef END /* the last time that is used */
#define END 2
#endif
#ifndef SERIALS
#define SERIALS 4
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#define NEVER (END + 1) /* any time that is too late */
#define NOBODY 3

/* Member 0, its copy 1 in another place or a stranger, and 2: what 0 is after a restart in its place. */
#define MEMBERS 3
#define place(m) (m == 1)
#ifndef ORIGINS
#define ORIGINS 3
#endif

/* A registry's data of the shard and the space. */
typedef Table {
    byte holder; /* or the last holder, if it is released */
    byte origin; /* of the holder; 0: none */
    bit held;
    byte from;
    byte until;
    byte serial;
    bit changed; /* since this branch began */
    byte starts; /* in the holder's place that were seen there: a bit for each */
    byte branch;
    byte not_before;
    bit set_back;
    bit restored; /* registry_was_restored() was the owner's last call, in this run of the server */
    bit elsewhere; /* it is not in the place where it was confirmed */
    byte steps     /* of the timeline since then */
};
Table t[2]; /* the registry; its backup or clone */
bit has_saved;
bit is_clone;    /* member 1 sends its requests to the second one */
bit is_lost;     /* something was lost since the owner's last call */
bit last_lost;   /* by the last change */
bit at_target;   /* the last change was a recovery with a target */
bit is_plain;    /* all changes since then are of the timeline */
byte changes;
byte branches;
byte highest;    /* no window ever ends later: known by the clock, max_ahead and the operator */

byte pending;    /* -DSTANDBY: the member that has no receipt yet, plus 1 */
byte pending_serial;
byte origins;
byte turns;  /* how often a start has displaced another in its place, one after the other */
bit runs[MEMBERS];
byte origin[MEMBERS]; /* of its lease, or of the request for it */
bit sealed[MEMBERS]; /* it has released, or never joined */
byte from[MEMBERS];
byte until[MEMBERS];
byte serial[MEMBERS]; /* the receipt */
byte branch[MEMBERS];
byte till[MEMBERS];
byte used[MEMBERS]; /* a bit for each time */

#define JOIN 1
#define RENEW 2
#define TAKE_OVER 3
#define RETURN 4

/* A late request, whose answer is lost; with -DHEARD it may be received. */
byte late;      /* JOIN ..., 0: none */
byte late_who;
byte late_origin;
byte late_wanted;
byte late_serial;
byte late_branch;
byte late_till;
byte late_below;
byte late_displaces; /* the serial that a takeover names */
bit late_released; /* its sender has released since */

/* The member's next step. */
byte me;
byte what;
bit is_heard;
bit is_idle;

byte wanted;
byte below; /* not_before, as the request reads it */
bit granted;
byte next;
byte time;
byte seen;
bit refused;

inline raise(what, to) {
    if
    :: what < to -> what = to
    :: else
    fi
}

inline lower(what, to) {
    if
    :: what > to -> what = to
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
    :: time = 3
#endif
    fi
}

#ifdef NO_PLACE
#define is_there(r) 1
#else
#define is_there(r) (!t[r].elsewhere)
#endif
#ifdef NO_TIMELINE
#define is_timeline(r) 1
#else
#define is_timeline(r) (t[r].steps == 0)
#endif
#define is_confirmed(r) (is_there(r) && is_timeline(r) && !t[r].set_back)

#define proves(r, s, b, u) ((b == t[r].branch && s > t[r].serial) || (b != t[r].branch && u > t[r].not_before))
#ifdef NO_SERIAL
#define is_behind(r, s, b, u) 0
#elif defined(NO_OTHER_BRANCH)
#define is_behind(r, s, b, u) (b == t[r].branch && s > t[r].serial)
#else
#define is_behind(r, s, b, u) (s > 0 && proves(r, s, b, u))
#endif

/* With the receipt s, b, u; s = 0: none. */
inline check(r, kind, s, b, u) {
    refused = !is_confirmed(r);
    seen = s;
    if
    :: !refused && seen > 0 && is_behind(r, s, b, u) ->
#ifndef CANCELLED_COUNTS
        assert(is_lost);
#endif
        t[r].set_back = 1;
        refused = 1
    :: else
    fi
}

#ifdef NO_RENEWAL
#define is_forgotten(r, b) 1
#else
#define is_forgotten(r, b) (seen > t[r].serial && !t[r].changed && b != t[r].branch)
#endif
#define is_own(r, o) (t[r].origin == o)
#ifdef NO_LATE
#define may_join(r, o) 1
#else
#define may_join(r, o) (!is_own(r, o))
#endif
#ifdef NO_INCARNATION
#define is_same(r, m) 1
#else
#define is_same(r, m) (t[r].holder == m)
#endif
#ifdef NO_OLD_WINDOW
#define is_old(r) 0
#else
#define is_old(r) (t[r].from < below)
#endif
#ifdef INHERITS
#define is_heir(idle) idle
#else
#define is_heir(idle) 0
#endif
#ifdef NO_HOLDER
#define may_have(r, m, kind, idle) 1
#else
#define may_have(r, m, kind, idle) (is_same(r, m) || place(t[r].holder) == place(m) || kind == TAKE_OVER || is_heir(idle))
#endif
#define may_take(r, m, o, kind, b, idle) (t[r].held \
    -> (is_own(r, o) && may_have(r, m, kind, idle)) \
    : kind == TAKE_OVER || is_forgotten(r, b) || (kind == JOIN && may_join(r, o)))
#define stays(r, m, o) (t[r].held && is_own(r, o) && place(t[r].holder) == place(m))
#ifdef NO_STARTS
#define comes_back(r, m, o, kind) 0
#else
#define comes_back(r, m, o, kind) (stays(r, m, o) && kind != TAKE_OVER && t[r].holder != m && (t[r].starts & (1 << m)))
#endif

/* Which registry the member uses: the registry, or its clone. */
#define asked(m) (is_clone && m == 1)

#ifdef ALONE
#define IS_ALONE (kind == RENEW && !runs[2 - m])
#else
#define IS_ALONE 0
#endif
#ifdef OLDER
#define IS_OLDER(r, o) 0
#else
#define IS_OLDER(r, o) (!is_own(r, o))
#endif

/* idle: by the registry's clock the lease has expired. */
inline grant(r, m, o, kind, b, sent_before, idle) {
    granted = 0;
    next = t[r].serial + 1;
    raise(next, seen + 1);
    if
    :: refused || next > SERIALS -> skip
    :: !(refused || next > SERIALS) && comes_back(r, m, o, kind) ->
        assert(!IS_ALONE); /* R15 */
        skip
    :: else ->
        if
        :: t[r].held && is_own(r, o) && is_same(r, m) && kind != JOIN && !is_old(r) ->
            raise(t[r].until, wanted + 1);
            granted = 1
        :: else ->
            if
            :: may_take(r, m, o, kind, b, idle) ->
                assert(!t[r].held || kind == TAKE_OVER || place(t[r].holder) == place(m)); /* L2 */
                assert(t[r].held || kind == TAKE_OVER || !sent_before || IS_OLDER(r, o)); /* R9 */
                assert(t[r].held || kind != RENEW || (b != t[r].branch && !t[r].changed)); /* R9 */
#ifdef TWINS
                if
                :: stays(r, m, o) && t[r].holder != m && kind != TAKE_OVER -> turns++; assert(turns < 2) /* R15 */
                :: stays(r, m, o) && t[r].holder == m -> skip
                :: else -> turns = 0
                fi;
#endif
                t[r].starts = (stays(r, m, o) -> t[r].starts | (1 << m) : 1 << m);
#ifdef NO_FROM
                t[r].from = wanted;
#else
                t[r].from = (t[r].until > wanted -> t[r].until : wanted);
#endif
                raise(t[r].from, below);
                lower(t[r].from, NEVER);
                t[r].until = t[r].from + 1;
                t[r].held = 1;
                t[r].holder = m;
                t[r].origin = o;
                granted = 1
            :: else
            fi
        fi
    fi;
    if
    :: granted ->
        t[r].serial = next;
        t[r].changed = 1;
        lower(t[r].until, NEVER);
        raise(highest, t[r].until)
    :: else
    fi
}

inline hear(r, m) {
    from[m] = t[r].from;
    until[m] = t[r].until;
    receive(r, m)
}

inline receive(r, m) {
    serial[m] = t[r].serial;
    branch[m] = t[r].branch;
    till[m] = t[r].until
}

inline seal(m) {
    sealed[m] = 1;
    forget(m)
}

inline forget(m) {
    from[m] = 0;
    until[m] = 0
}

/* The first time above all that it has used. */
#define tick(m) (used[m] == 0 -> 0 : (used[m] < 2 -> 1 : (used[m] < 4 -> 2 : (used[m] < 8 -> 3 : 4))))

#ifdef NO_PLACE_OF_RETURN
#define may_return(r, m) 1
#else
#define may_return(r, m) (t[r].holder == m || place(t[r].holder) == place(m))
#endif

/* The window stays as it is. */
inline give_back(r, m, o) {
    granted = (!refused && is_own(r, o) && (!t[r].held || may_return(r, m)));
    if
    :: granted ->
        assert(!t[r].held || place(t[r].holder) == place(m)); /* L2 */
        t[r].held = 0;
        t[r].changed = 1;
        raise(t[r].serial, seen);
        t[r].serial++
    :: else
    fi
}

inline copy_table(to, source) {
    t[to].holder = t[source].holder;
    t[to].held = t[source].held;
    t[to].from = t[source].from;
    t[to].until = t[source].until;
    t[to].serial = t[source].serial;
    t[to].origin = t[source].origin;
    t[to].changed = t[source].changed;
    t[to].starts = t[source].starts;
    t[to].branch = t[source].branch;
    t[to].not_before = t[source].not_before;
    t[to].set_back = t[source].set_back;
    t[to].restored = t[source].restored;
    t[to].elsewhere = t[source].elsewhere;
    t[to].steps = t[source].steps
}

/* A lease that begins has a new origin; a join that is repeated, because it was not answered, keeps it. */
inline new_origin(m, kind) {
    if
    :: kind == JOIN && sealed[m] ->
        origins++;
        origin[m] = origins;
        sealed[m] = 0
    :: else
    fi
}

/* A request that arrives at once; its answer is received, or lost. */
inline request(m, kind, heard, idle) {
    below = t[asked(m)].not_before;
    wanted = time;
    raise(wanted, tick(m));
    new_origin(m, kind);
    check(asked(m), kind, serial[m], branch[m], till[m]);
    grant(asked(m), m, origin[m], kind, branch[m], 0, idle);
    if
#ifdef STANDBY
    :: granted && heard -> pending = m + 1; pending_serial = t[0].serial
#else
    :: granted && heard -> hear(asked(m), m)
#endif
    :: else
    fi;
    clear()
}

/* The second step: a receipt for what is committed here, and has reached the standby. */
inline give_receipt(m) {
    if
    :: t[0].serial == pending_serial && is_confirmed(0) && !t[0].set_back && !sealed[m] && t[0].origin == origin[m] ->
#ifndef CANCELLED_COUNTS
        copy_table(1, 0);
#endif
        hear(0, m)
    :: else
    fi;
    pending = 0;
    pending_serial = 0
}

/* Only the standby is left. Nothing is lost that anybody has a receipt of. */
inline fail_over() {
    changes++;
    copy_table(0, 1);
    t[0].steps++;
    pending = 0;
    pending_serial = 0;
    late_released = 0
}

inline release(m, heard) {
    seal(m);
    check(asked(m), RETURN, serial[m], branch[m], till[m]);
    give_back(asked(m), m, origin[m]);
    if
    :: granted && heard ->
        origin[m] = 0; /* no more requests of this lease */
#ifdef STANDBY
        copy_table(1, 0);
#endif
        receive(asked(m), m);
        if
        :: late != 0 && late_who == m && !asked(m) -> late_released = 1
        :: else
        fi
    :: else
    fi;
    clear()
}

inline send_late(m, kind) {
    late = kind;
    late_who = m;
    new_origin(m, kind);
    late_origin = origin[m];
    late_wanted = time;
    raise(late_wanted, tick(m));
    if
    :: kind == RETURN -> late_wanted = 0
    :: else
    fi;
    late_serial = serial[m];
    late_branch = branch[m];
    late_till = till[m];
    late_below = t[0].not_before;
    if
    :: kind == TAKE_OVER -> late_displaces = t[0].serial
    :: else
    fi;
    late_released = 0
}

#ifdef NO_COMMITTED
#define below_of_late late_below
#else
#define below_of_late t[0].not_before
#endif

inline deliver(idle, heard) {
    below = below_of_late;
    wanted = late_wanted;
    check(0, late, late_serial, late_branch, late_till);
    if
    :: late == RETURN -> give_back(0, late_who, late_origin)
#ifndef ANY_SERIAL
    :: late == TAKE_OVER && t[0].serial != late_displaces -> skip
#endif
    :: else ->
        assert(late != TAKE_OVER || t[0].serial == late_displaces); /* R19 */
        grant(0, late_who, late_origin, late, late_branch, late_released, idle);
        if
        :: granted && heard && runs[late_who] && !sealed[late_who] && origin[late_who] == late_origin -> hear(0, late_who)
        :: else
        fi
    fi;
    forget_late();
    clear()
}

inline forget_late() {
    late = 0;
    late_who = 0;
    late_origin = 0;
    late_wanted = 0;
    late_serial = 0;
    late_branch = 0;
    late_till = 0;
    late_below = 0;
    late_displaces = 0;
    late_released = 0
}

inline clear() {
    time = 0;
    wanted = 0;
    below = 0;
    next = 0;
    seen = 0;
    refused = 0;
    granted = 0
}

#ifdef RELEASED_DRAWS
#define has_window(m) (until[m] > 0 || sealed[m])
#define is_in_window(m) (sealed[m] || (from[m] <= time && time < until[m]))
#else
#define has_window(m) (until[m] > 0)
#define is_in_window(m) (from[m] <= time && time < until[m])
#endif

inline use(m) {
    if
    :: has_window(m) && is_in_window(m) ->
        assert(!((used[0] | used[1] | used[2]) & ~used[m] & (1 << time))); /* L1 */
        used[m] = used[m] | (1 << time)
    :: else
    fi;
    time = 0
}

/* Back to the backup. The registry's place does not change: `elsewhere` and `steps` are the backup's, plus changes. */
inline restore() {
    changes++;
    copy_table(0, 1);
#ifndef AGAIN_AFTER_RESTART
    t[0].restored = 0;
#endif
    is_lost = 1;
    late_released = 0
}

inline move_timeline(lost, target) {
    t[0].steps++;
    at_target = target;
    last_lost = lost
}

inline move_place(lost) {
    t[0].elsewhere = 1;
    at_target = 0;
    is_plain = 0;
    last_lost = lost
}

inline confirm() {
    t[0].elsewhere = 0;
    t[0].steps = 0;
    is_plain = 1;
    last_lost = 0;
    at_target = 0
}

#ifdef EACH_TIME
#define is_known 0
#else
#define is_known (t[0].restored && !t[0].changed && !t[0].set_back && is_confirmed(0))
#endif

/* The second call in a row, with no change of the shard in between, changes nothing. Else nothing that is lost ends
 * later than max_ahead and a lease after what the registry knows. */
inline was_restored() {
    if
    :: is_known -> skip
    :: else ->
#ifdef BELIEVES_CLOCK
        raise(t[0].not_before, t[0].until);
#elif defined(EACH_TIME)
        t[0].not_before++;
        raise(t[0].not_before, highest);
#else
        raise(t[0].not_before, highest);
#endif
        assert(t[0].not_before <= highest || is_lost); /* no further than needed */
        t[0].set_back = 0;
        t[0].restored = 1;
        t[0].changed = 0;
        is_lost = 0;
#ifndef NO_BRANCH
        branches++;
        t[0].branch = branches;
#endif
        confirm()
    fi
}

#ifdef NO_SUCCESSOR
#define is_successor 1
#else
#define is_successor (t[0].steps <= 1)
#endif
#ifdef NO_TARGET
#define is_complete 1
#else
#define is_complete (!at_target)
#endif

#ifdef LIAR
#define may_say_moved 1
#else
#define may_say_moved (!is_lost || (is_plain && (!last_lost || at_target)))
#endif

/* The member has a receipt of a grant that the backup does not have. */
#define knows(m) (runs[m] && !asked(m) && branch[m] == t[0].branch && serial[m] > 0 && proves(1, serial[m], branch[m], till[m]))

/* A snapshot restored in the same place and on the same timeline; the first request proves a lost grant. */
inline put_back(m) {
    restore();
    last_lost = 1;
    request(m, RENEW, 0, 0)
}

inline begin(m, source) {
    runs[m] = 1;
    origin[m] = origin[source];
    serial[m] = serial[source];
    sealed[m] = sealed[source];
    branch[m] = branch[source];
    till[m] = till[source]
}

#define may_ask(m, kind) (!sealed[m] || (kind == JOIN && origins < ORIGINS))

/* One of those that run; what it does. */
inline any_member() {
    if
    :: runs[0] -> me = 0
    :: runs[1] -> me = 1
    :: runs[2] -> me = 2
    fi
}

inline any_request() {
    if
    :: may_ask(me, JOIN) -> what = JOIN
    :: !sealed[me] -> what = RENEW
    :: !sealed[me] -> what = TAKE_OVER
    :: else
    fi;
    if
    :: what != 0 && what != TAKE_OVER -> is_idle = 1
    :: is_heard = 1
    :: what != TAKE_OVER -> is_idle = 1; is_heard = 1
    :: what != TAKE_OVER -> skip
    fi
}

inline any_late_request() {
    if
    :: may_ask(me, JOIN) -> what = JOIN
    :: serial[me] > 0 && !sealed[me] -> what = RENEW
    :: until[me] > 0 -> what = RETURN
#ifdef LATE_TAKEOVER
    :: !sealed[me] -> what = TAKE_OVER
#endif
    :: else
    fi
}

inline forget_choice() {
    me = 0;
    what = 0;
    is_heard = 0;
    is_idle = 0;
    time = 0
}

init {
    d_step {
        runs[0] = 1;
        sealed[0] = 1;
        sealed[1] = 1;
        sealed[2] = 1;
        t[0].holder = NOBODY;
        branches = 1;
        t[0].branch = 1;
        is_plain = 1;
#ifdef AGAIN
        t[0].restored = 1;
#endif
        copy_table(1, 0)
    }
    do
    :: atomic { any_member(); any_time(); d_step { use(me); forget_choice() } }
    :: atomic { any_member(); any_time(); any_request();
        d_step {
            if
            :: what != 0 -> request(me, what, is_heard, is_idle)
            :: else
            fi;
            forget_choice()
        } }
    :: atomic { any_member();
        if
        :: is_heard = 0
        :: is_heard = 1
        fi;
        d_step {
            if
            :: serial[me] > 0 && origin[me] > 0 && t[asked(me)].serial < SERIALS -> release(me, is_heard)
            :: else
            fi;
            forget_choice()
        } }
    :: atomic { late == 0 -> any_member(); any_time(); any_late_request();
        d_step {
            if
            :: what != 0 && !asked(me) ->
                if
                :: what == RETURN -> seal(me)
                :: else
                fi;
                send_late(me, what)
            :: else
            fi;
            forget_choice()
        } }
    :: d_step { time == 0 -> skip } /* all have reached a bound */
    :: atomic { late != 0 && t[0].serial < SERIALS ->
        if
        :: is_idle = 0
        :: is_idle = 1
#ifdef HEARD
        :: is_idle = 1; is_heard = 1
#endif
        fi;
        d_step { deliver(is_idle, is_heard); forget_choice() } }
    :: d_step { late != 0 -> forget_late() }
#ifdef EVICT
    :: d_step { is_confirmed(0) && t[0].held && t[0].serial < SERIALS -> t[0].held = 0; t[0].changed = 1; t[0].serial++ }
#endif

    /* a copy of the member, a stranger; a restart in its place */
    #ifndef STRANGERS
    :: d_step { runs[0] && !runs[1] -> begin(1, 0) }
#endif
    :: d_step { runs[0] && !runs[1] -> runs[1] = 1 }
#ifdef TWINS
    :: d_step { runs[0] && !runs[2] -> begin(2, 0) }
#endif
#ifdef RESTART
    :: d_step { runs[0] && !runs[2] -> begin(2, 0); runs[0] = 0; forget(0) }
#endif

#ifdef STANDBY
    :: d_step { pending > 0 -> give_receipt(pending - 1) }
    :: d_step { pending > 0 -> pending = 0; pending_serial = 0 }
    :: d_step { changes < CHANGES -> fail_over() }
    :: d_step { !t[0].set_back && t[0].steps == 1 -> confirm() }
#endif
#ifdef AGAIN
    :: d_step { branches < 3 -> was_restored() }
    :: d_step { has_saved && changes < CHANGES -> restore(); was_restored() } /* a snapshot, and the owner knows it */
#endif
#if defined(RESTORE) || defined(AGAIN)
    :: d_step { !has_saved -> has_saved = 1; copy_table(1, 0) }
#endif
#ifdef RESTORE
    :: d_step { has_saved && !is_clone && changes < CHANGES -> restore(); move_timeline(1, 0) }
    :: d_step { has_saved && !is_clone && changes < CHANGES -> restore(); move_timeline(1, 1) }
    :: d_step { has_saved && !is_clone && changes < CHANGES -> restore(); move_place(1) }
    :: d_step { changes < CHANGES && t[0].steps < 3 -> changes++; move_timeline(0, 0) }
    :: d_step { changes < CHANGES -> changes++; move_place(0) }
    :: atomic { !is_lost && has_saved && !is_clone && changes < CHANGES && is_confirmed(0) && t[1].steps == 0 &&
        !t[1].elsewhere && (knows(0) || knows(1)) ->
        if
        :: knows(0) -> me = 0
        :: knows(1) -> me = 1
        fi;
        d_step { put_back(me); forget_choice() } }
    /* The owner's calls. The owner may know only the last change, or mistake a recovery to a target for a failover. */
    :: d_step { t[0].elsewhere || t[0].steps > 0 || t[0].set_back -> was_restored() }
    :: d_step { !t[0].set_back && (t[0].elsewhere || t[0].steps > 0) && is_successor &&
        is_complete &&
        may_say_moved -> confirm() }
#endif
#ifdef CLONE
    :: d_step { !has_saved && runs[0] && !runs[1] ->
        has_saved = 1; is_clone = 1; copy_table(1, 0); t[1].elsewhere = 1; begin(1, 0) }
#endif
    od
}
