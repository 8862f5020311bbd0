/* One leased shard of an id space whose registry is copied, restored and failed over, while members send requests to
 * it or to a copy. A request may be late; answers are lost. lease.pml is about a member's page: here an incarnation
 * uses any time of its last window, at any moment.
 *
 * Checked: L1, no time is used by two incarnations; L2, without take_over_shard a running lease goes to no other place,
 * nor an idle one to a copy; R9, only a join or take_over_shard, sent afterwards, makes a released or evicted shard
 * held; a space stops only if something was lost. README.md lists the errors that -D makes. */

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
#define same_origin(m, n) (m != NOBODY && n != NOBODY && (!is_stranger || place(m) == place(n)))

/* A registry's data of the shard and the space. */
typedef Table {
    byte holder; /* or the last holder, if it is released */
    bit held;
    byte from;
    byte until;
    byte serial;
    byte tenure;
    byte branch;
    byte base; /* the first branch of this id space; a new space of the same name has another identity */
    byte not_before;
    bit set_back;
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
bit looks;       /* drop_id_space has looked at the rows */

bit is_stranger;
bit is_promoted; /* 1 has a later timeline; 0 is gone */
bit runs[MEMBERS];
bit sealed[MEMBERS]; /* it is releasing, and does not renew */
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
byte late_wanted;
byte late_serial;
byte late_branch;
byte late_till;
byte late_below;
bit late_released; /* its sender has released since */

byte wanted;
byte below; /* not_before, as the request reads it */
bit granted;
byte next;
byte kept;       /* the end that drop_id_space found */
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

#define proves(r, s, b, u) (b >= t[r].base && ((b == t[r].branch && s > t[r].serial) || (b != t[r].branch && u > t[r].not_before)))
#ifdef NO_SERIAL
#define is_behind(r, s, b, u) 0
#elif defined(NO_OTHER_BRANCH)
#define is_behind(r, s, b, u) (b == t[r].branch && s > t[r].serial)
#else
#define is_behind(r, s, b, u) (s > 0 && proves(r, s, b, u))
#endif

/* With the receipt s, b, u; s = 0: none. */
inline check(r, kind, s, b, u) {
    refused = !is_confirmed(r) || (s > 0 && b < t[r].base && kind != JOIN && kind != TAKE_OVER);
    seen = (b < t[r].base -> 0 : s);
    if
    :: !refused && seen > 0 && is_behind(r, s, b, u) ->
        assert(is_lost);
        t[r].set_back = 1;
        refused = 1
    :: else
    fi
}

#ifdef NO_RENEWAL
#define may_renew(r, b) 1
#else
#define may_renew(r, b) (seen > t[r].serial && b != t[r].branch)
#endif
#ifdef NO_LATE
#define is_late(r, m, kind) 0
#else
#define is_late(r, m, kind) (same_origin(t[r].holder, m) && kind != TAKE_OVER && seen < t[r].serial)
#endif
#ifdef NO_INCARNATION
#define is_same(r, m) same_origin(t[r].holder, m)
#else
#define is_same(r, m) (t[r].holder == m)
#endif
#ifdef NO_OLD_WINDOW
#define is_old(r) 0
#else
#define is_old(r) (t[r].from < below)
#endif
#ifdef NO_PROMOTION
#define is_heir(m) 1
#else
#define is_heir(m) (m == 1 && is_promoted)
#endif
#ifdef NO_HOLDER
#define may_have(r, m, kind, idle) same_origin(t[r].holder, m)
#else
#define may_have(r, m, kind, idle) (same_origin(t[r].holder, m) \
    && (is_same(r, m) || place(t[r].holder) == place(m) || kind == TAKE_OVER || (idle && is_heir(m))))
#endif
#define may_take(r, m, kind, idle, long_idle) (!t[r].held || may_have(r, m, kind, idle) || (long_idle && kind == JOIN))

/* Which registry the member uses: the registry, or its clone. */
#define asked(m) (is_clone && m == 1)

/* idle: by the registry's clock the lease has expired; long_idle: for reclaim_after. */
inline grant(r, m, kind, b, sent_before, idle, long_idle) {
    granted = 0;
    next = t[r].serial + 1;
#ifndef NO_SEEN
    raise(next, seen + 1);
#endif
    if
    :: refused || next > SERIALS || (!t[r].held && (is_late(r, m, kind) || (kind == RENEW && !may_renew(r, b)))) -> skip
    :: else ->
        if
        :: t[r].held && same_origin(t[r].holder, m) && is_same(r, m) && kind != JOIN && !is_old(r) ->
            raise(t[r].until, wanted + 1);
            granted = 1
        :: else ->
            if
            :: may_take(r, m, kind, idle, long_idle) ->
                assert(!t[r].held || kind == TAKE_OVER || place(t[r].holder) == place(m) || long_idle ||
                    (idle && is_promoted)); /* L2 */
                assert(t[r].held || kind == TAKE_OVER || !sent_before || !same_origin(t[r].holder, m)); /* R9 */
                assert(t[r].held || kind != RENEW || b != t[r].branch); /* R9 */
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
                t[r].tenure = next;
                granted = 1
            :: else
            fi
        fi
    fi;
    if
    :: granted ->
        t[r].serial = next;
        lower(t[r].until, NEVER);
        raise(highest, t[r].until)
    :: else
    fi
}

inline hear(r, m) {
    sealed[m] = 0;
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

#ifdef NO_TENURE
#define is_of_tenure(r, s) 1
#else
#define is_of_tenure(r, s) (seen >= t[r].tenure)
#endif
#ifdef NO_PLACE_OF_RETURN
#define may_return(r, m) 1
#else
#define may_return(r, m) (place(t[r].holder) == place(m))
#endif
#ifdef NO_RETURNED_BY
#define knows_use(r, m) 1
#else
#define knows_use(r, m) (t[r].holder == m)
#endif

/* wanted: the time after the last one used. */
inline give_back(r, m) {
    granted = 0;
    if
    :: !refused && same_origin(t[r].holder, m) && t[r].held && may_return(r, m) && is_of_tenure(r, s) ->
        assert(place(t[r].holder) == place(m)); /* L2 */
        if
        :: knows_use(r, m) ->
            raise(wanted, t[r].from);
            lower(t[r].until, wanted)
        :: else
        fi;
        t[r].held = 0;
        granted = 1
    :: else -> granted = (!refused && same_origin(t[r].holder, m) && !t[r].held) /* already */
    fi;
    if
    :: granted ->
#ifndef NO_SEEN
        raise(t[r].serial, seen);
#endif
        t[r].serial++
    :: else
    fi
}

/* A request that arrives at once; its answer is received, or lost. */
inline request(m, kind, heard, idle, long_idle) {
    below = t[asked(m)].not_before;
    wanted = time;
    raise(wanted, tick(m));
    check(asked(m), kind, serial[m], branch[m], till[m]);
    grant(asked(m), m, kind, branch[m], 0, idle, long_idle);
    if
    :: granted && heard -> hear(asked(m), m)
    :: else
    fi;
    clear()
}

inline release(m, heard) {
    seal(m);
    wanted = tick(m);
    check(asked(m), RETURN, serial[m], branch[m], till[m]);
    give_back(asked(m), m);
    if
    :: granted && heard ->
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
    late_wanted = time;
    raise(late_wanted, tick(m));
    if
    :: kind == RETURN -> late_wanted = tick(m)
    :: else
    fi;
    late_serial = serial[m];
    late_branch = branch[m];
    late_till = till[m];
    late_below = t[0].not_before;
    late_released = 0;
    time = 0
}

#ifdef NO_COMMITTED
#define below_of_late late_below
#else
#define below_of_late t[0].not_before
#endif

inline deliver(idle, long_idle, heard) {
    below = below_of_late;
    wanted = late_wanted;
    check(0, late, late_serial, late_branch, late_till);
    if
    :: late == RETURN -> give_back(0, late_who)
    :: else -> grant(0, late_who, late, late_branch, late_released, idle, long_idle);
        if
        :: granted && heard && runs[late_who] && !sealed[late_who] -> hear(0, late_who)
        :: else
        fi
    fi;
    forget_late();
    clear()
}

inline forget_late() {
    late = 0;
    late_who = 0;
    late_wanted = 0;
    late_serial = 0;
    late_branch = 0;
    late_till = 0;
    late_below = 0;
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
    :: is_in_window(m) ->
        assert(!((used[0] | used[1] | used[2]) & ~used[m] & (1 << time))); /* L1 */
        used[m] = used[m] | (1 << time)
    :: else
    fi;
    time = 0
}

inline copy_table(to, source) {
    t[to].holder = t[source].holder;
    t[to].held = t[source].held;
    t[to].from = t[source].from;
    t[to].until = t[source].until;
    t[to].serial = t[source].serial;
    t[to].tenure = t[source].tenure;
    t[to].branch = t[source].branch;
    t[to].base = t[source].base;
    t[to].not_before = t[source].not_before;
    t[to].set_back = t[source].set_back;
    t[to].elsewhere = t[source].elsewhere;
    t[to].steps = t[source].steps
}

/* Back to the backup. The registry's place does not change: `elsewhere` and `steps` are the backup's, plus changes. */
inline restore() {
    changes++;
    copy_table(0, 1);
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
    at_target = 0;
    looks = 0
}

inline was_restored() {
#ifdef BELIEVES_CLOCK
    raise(t[0].not_before, t[0].until);
#else
    raise(t[0].not_before, highest);
#endif
    t[0].set_back = 0;
    is_lost = 0;
#ifndef NO_BRANCH
    branches++;
    t[0].branch = branches;
#endif
    confirm()
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

/* The member has a receipt of a grant that the backup does not have. */
#define knows(m) (runs[m] && !asked(m) && branch[m] == t[0].branch && serial[m] > 0 && proves(1, serial[m], branch[m], till[m]))

/* A snapshot restored in the same place and on the same timeline; the first request proves a lost grant. */
inline put_back(m) {
    restore();
    last_lost = 1;
    request(m, RENEW, 0, 0, 0)
}

/* drop_id_space locks the row until it is deleted. */
#ifdef NO_DROP_LOCK
#define is_locked 0
#else
#define is_locked looks
#endif
#ifdef OWNER_UNCHECKED
#define owner_may 1
#else
#define owner_may is_confirmed(0)
#endif

/* All windows have ended, by the registry's clock: the new space begins after them. */
inline look() {
    looks = 1;
    kept = t[0].until;
    raise(kept, t[0].not_before)
}

inline drop() {
    branches++;
#ifdef DROP_FORGETS
    kept = 0;
#endif
    t[0].holder = NOBODY;
    t[0].held = 0;
    t[0].from = 0;
    t[0].until = 0;
    t[0].serial = 0;
    t[0].tenure = 0;
    t[0].branch = branches;
    t[0].base = branches;
    t[0].not_before = kept;
    t[0].set_back = 0;
    is_lost = 0;
    confirm();
    kept = 0;
    late_released = 0
}

inline begin(m, source) {
    runs[m] = 1;
    serial[m] = serial[source];
    sealed[m] = sealed[source];
    branch[m] = branch[source];
    till[m] = till[source]
}

#define idle_or_not(m, kind, heard) \
    :: atomic { runs[m] && !is_locked && (kind == JOIN || !sealed[m]) -> any_time(); d_step { request(m, kind, heard, 0, 0) } } \
    :: atomic { runs[m] && !is_locked && (kind == JOIN || !sealed[m]) -> any_time(); d_step { request(m, kind, heard, 1, 0) } } \
    :: atomic { runs[m] && !is_locked && kind == JOIN -> any_time(); d_step { request(m, kind, heard, 1, 1) } }

#define member(m) \
    :: atomic { runs[m] && has_window(m) -> any_time(); d_step { use(m) } } \
    idle_or_not(m, JOIN, 0) \
    idle_or_not(m, JOIN, 1) \
    idle_or_not(m, RENEW, 0) \
    idle_or_not(m, RENEW, 1) \
    idle_or_not(m, TAKE_OVER, 1) \
    :: d_step { runs[m] && !is_locked && serial[m] > 0 && t[asked(m)].serial < SERIALS -> release(m, 0) } \
    :: d_step { runs[m] && !is_locked && serial[m] > 0 && t[asked(m)].serial < SERIALS -> release(m, 1) } \
    :: atomic { runs[m] && late == 0 && !asked(m) -> any_time(); d_step { send_late(m, JOIN) } } \
    :: atomic { runs[m] && late == 0 && !asked(m) && serial[m] > 0 && !sealed[m] -> any_time(); d_step { send_late(m, RENEW) } } \
    :: d_step { runs[m] && late == 0 && !asked(m) && until[m] > 0 -> seal(m); send_late(m, RETURN) }

init {
    d_step {
        runs[0] = 1;
        t[0].holder = NOBODY;
        t[1].holder = NOBODY;
        branches = 1;
        t[0].branch = 1;
        t[0].base = 1;
        is_plain = 1
    }
    do
    member(0)
    member(1)
    member(2)
    :: d_step { late != 0 && !is_locked && t[0].serial < SERIALS -> deliver(0, 0, 0) }
    :: d_step { late != 0 && !is_locked && t[0].serial < SERIALS -> deliver(1, 0, 0) }
#ifdef HEARD
    :: d_step { late != 0 && !is_locked && t[0].serial < SERIALS -> deliver(1, 0, 1) }
#endif
    :: d_step { late != 0 -> forget_late() }
#ifdef EVICT
    :: d_step { owner_may && t[0].held && t[0].serial < SERIALS -> t[0].held = 0; t[0].serial++ }
#endif

    /* a copy of the member, a stranger, a promoted standby; a restart in its place */
    :: d_step { runs[0] && !runs[1] -> begin(1, 0) }
    :: d_step { runs[0] && !runs[1] -> runs[1] = 1; is_stranger = 1 }
#ifdef PROMOTE
    :: d_step { runs[0] && !runs[1] -> begin(1, 0); is_promoted = 1; runs[0] = 0; forget(0) }
#endif
#ifdef RESTART
    :: d_step { runs[0] && !runs[2] -> begin(2, 0); runs[0] = 0; forget(0) }
#endif

#ifdef RESTORE
    :: d_step { !has_saved -> has_saved = 1; copy_table(1, 0) }
    :: d_step { has_saved && !is_clone && changes < CHANGES -> restore(); move_timeline(1, 0) }
    :: d_step { has_saved && !is_clone && changes < CHANGES -> restore(); move_timeline(1, 1) }
    :: d_step { has_saved && !is_clone && changes < CHANGES -> restore(); move_place(1) }
    :: d_step { changes < CHANGES && t[0].steps < 3 -> changes++; move_timeline(0, 0) }
    :: d_step { changes < CHANGES -> changes++; move_place(0) }
    :: d_step { !is_lost && has_saved && !is_clone && changes < CHANGES && is_confirmed(0) && t[1].steps == 0 && !t[1].elsewhere &&
        knows(0) -> put_back(0) }
    :: d_step { !is_lost && has_saved && !is_clone && changes < CHANGES && is_confirmed(0) && t[1].steps == 0 && !t[1].elsewhere &&
        knows(1) -> put_back(1) }
    /* The owner's calls. The owner may know only the last change, or mistake a recovery to a target for a failover. */
    :: d_step { t[0].elsewhere || t[0].steps > 0 || t[0].set_back -> was_restored() }
    :: d_step { !t[0].set_back && (t[0].elsewhere || t[0].steps > 0) && is_successor &&
        is_complete &&
        (!is_lost || (is_plain && (!last_lost || at_target))) -> confirm() }
#endif
#ifdef CLONE
    :: d_step { !has_saved && runs[0] && !runs[1] ->
        has_saved = 1; is_clone = 1; copy_table(1, 0); t[1].elsewhere = 1; begin(1, 0) }
#endif
#ifdef DROP
    :: d_step { !looks && branches < 2 && owner_may -> look() }
    :: d_step { looks -> drop() }
#endif
    od
}
