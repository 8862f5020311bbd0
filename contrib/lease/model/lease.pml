/* Leases of shards: registries that grant them, members that ask, and the messages between them, which may be late or
 * lost. All searches have the same registry. What one of them does not need is switched off, or never changes:
 *
 * - by default, one shard whose registry is copied, restored and failed over. Of a member there is only an incarnation,
 *   which uses any time of its window, at any moment;
 * - with -DPAGES, a member's servers, pages and sessions, and its copy. Nothing happens to the registry, and it grants
 *   more than it does otherwise: any place can get an expired lease, and a renewal a released shard;
 * - with -DTWO_REGISTRIES, a generator that leases from one of two registries, releases its lease and leases again,
 *   while a session continues that has loaded an earlier lease. Another generator leases from both registries, too.
 *
 * Clocks show any time at every look. wal.pml is about durability, clock.pml about steps of the clock.
 *
 * Checked: L1, no time of a shard is used by two incarnations, nor drawn twice; L2, without take_over_shard a running
 * lease goes to no other place, nor an idle one to a copy; R9, only a join or take_over_shard, sent afterwards, makes a
 * released or evicted shard held; R15, with -DTWINS, two servers in one place do not displace each other for ever; R19,
 * a late takeover displaces nobody; a space stops only if something was lost; registry_was_restored() does not push on
 * for ever. */

#define END 2      /* the last time that is used */
#define SERIALS 4  /* grants and releases of a shard */
#define LEASES 3   /* how many leases begin */
#define CHANGES 2  /* how often the registry is restored or moved */
#define NEVER (END + 1) /* any time that is too late */
#define NO_END 9        /* of a window */
#if defined(PAGES) || defined(TWO_REGISTRIES)
#define SESSIONS
#endif

/* The rule that is left out or put wrong, -DBUG=...; run.sh says what happens then. */
#define BUG NONE
mtype = { NONE,
    NO_PLACE, NO_TIMELINE, NO_SUCCESSOR, NO_TARGET, NO_SERIAL, NO_OTHER_BRANCH, NO_BRANCH, BELIEVES_CLOCK, NO_COMMITTED,
    NO_OLD_WINDOW, NO_FROM, NO_INCARNATION, NO_HOLDER, ANY_SERIAL, INHERITS, NO_PLACE_OF_RETURN, NO_LATE, NO_RENEWAL,
    RELEASED_DRAWS, CANCELLED_COUNTS, NO_STARTS, EACH_TIME, AGAIN_AFTER_RESTART, LIAR, OLDER, ALONE,
    NO_UNTIL, MOVED_KEEPS_WINDOW, TRUST_ROW, RELEASE_SHORTENS, AT_ONCE_UNENTERED, /* -DPAGES */
    LATE_ANSWER_STORED, ANY_REGISTRY, ANY_LEASE, CONNECTION_KEPT /* -DTWO_REGISTRIES */ }

/* A registry's data of the shard and the space. The second one is the first one's backup, standby or clone; or another
 * registry, with another shard. */
typedef Registry {
    bit held;
    byte holder; /* the incarnation */
    byte lease;  /* of the holder, or the last one; 0: none */
    byte from, until;
    byte serial;
    bit changed; /* since this branch began */
    byte starts; /* in the holder's place that were seen there: a bit for each */
    byte branch;
    byte not_before;
    bit set_back;
    bit restored;  /* registry_was_restored() was the owner's last call, in this run of the server */
    bit elsewhere; /* it is not in the place where it was confirmed */
    byte steps     /* of the timeline since then */
};
Registry t[2];

/* The lease rows of member 0; of 1, its copy in another place, or a stranger; and of 2, which 0 is after a restart in
 * its place. With -DPAGES these are servers, and each has several incarnations. (spin gives four bytes to a bit.) */
#define MEMBERS 3
typedef Row {
    byte sealed; /* it has released, or never joined */
    byte where; /* the registry that it asks */
    byte lease; /* or of the request for it */
    byte who;   /* the window's incarnation */
    byte from, until;
    byte serial, branch, till /* the receipt */
};
Row row[MEMBERS];
bit runs[MEMBERS];

/* The times that were used, a bit for each, of a shard and by a member. */
typedef Times { byte by[MEMBERS] };
Times used[2];

/* Requests: one that arrives at once, and one that is on its way. */
#define NOW 0
#define LATE 1
mtype = { JOIN, RENEW, TAKE_OVER, RETURN }
typedef Request {
    mtype kind; /* 0: none */
    byte where; /* the registry */
    byte who;   /* the incarnation */
    byte lease;
    byte wanted;
    byte serial, branch, till; /* the receipt */
    byte below;     /* not_before when it was sent */
    byte displaces; /* the serial that a takeover names */
    bit unmoved;    /* it is for a page that others have not moved: of any incarnation of the family */
    byte own;       /* a session asks by itself and keeps the answer: to everyone else it is lost */
    byte released   /* its sender has released since */
};
Request q[2];

#ifdef SESSIONS
/* Sessions, with the lease that they have loaded and the window that they keep. */
typedef Session {
    byte where;
    byte lease;
    byte who;
    byte from, until;
    byte entered /* it has drawn in this window, and can draw at once */
};
Session kept[2];

/* The answer that a member's worker or session has not stored yet. */
typedef Answer {
    byte who;
    byte lease;
    byte serial;
    byte from, until; /* 0: none */
    byte own
};
Answer answer[2];
#endif

byte leases; /* the number of the last one */
byte turns;  /* how often a start has displaced another in its place, one after the other */

/* What happens to the registry. */
bit has_saved;
bit is_lost;   /* something was lost since the owner's last call */
bit last_lost; /* by the last change */
bit at_target; /* the last change was a recovery with a target */
bit is_plain;  /* all changes since then are of the timeline */
byte changes;
byte branches;
byte highest;  /* no window ever ends later: known by the clock, max_ahead and the operator */
byte pending;  /* -DSTANDBY: the member that has no receipt yet, plus 1 */
byte pending_serial;

/* Of one step. */
byte me;
mtype what;
bit is_heard, is_idle;
byte time;
byte r;      /* the registry that reads a request */
byte number; /* its next serial */
byte below;  /* not_before, as the request reads it */
bit refused, granted;

#ifdef PAGES
/* Incarnations are numbered in the order of their beginning. A server's start or new storage begins an incarnation
 * and a family of them; a move of the page begins an incarnation in the storage's family. */
#define INCARNATIONS 3
byte begun;
byte family[INCARNATIONS + 1];
bit at[INCARNATIONS + 1]; /* the server, which is its place */

/* Server 0 is the original. Server 1 does not exist until it is copied. */
byte base[2];  /* the first incarnation of the present family */
byte moved[2]; /* moved by others since the last draw: the incarnation whose window the page needs */
byte next[2];  /* the first time after the last one drawn */

#define place(who) at[who]
#define started(who) 0 /* neither starts nor serials are counted */
#define STEP 0
#define ANY_HOLDER 1
#define already(shard, m) used[shard].by[m]
#ifdef ONE_SERVER
#define server_of(session) 0
#else
#define server_of(session) session
#endif
#define is_kin(i) (q[i].unmoved && t[r].held && family[t[r].holder] == family[q[i].who])
#define is_current(incarnation, s) (incarnation != 0 && (family[incarnation] == base[s] || BUG == TRUST_ROW))
#define is_awaited(request) (family[request.who] == base[at[request.who]])
#else
#define place(who) (who == 1)
#define started(who) (1 << who)
#define STEP 1
#define ANY_HOLDER 0
#define already(shard, m) ((used[shard].by[0] | used[shard].by[1] | used[shard].by[2]) & ~used[shard].by[m])
#define is_kin(i) 0
#define is_current(incarnation, s) 1
#ifdef TWO_REGISTRIES
#define is_awaited(request) 1
#else
#define is_awaited(request) (runs[request.who] && !row[request.who].sealed && row[request.who].lease == request.lease)
#endif
#endif
#ifdef TWO_REGISTRIES
#define shard_of(registry) registry
#else
#define shard_of(registry) 0
#endif

inline raise(what_, to) {
    if :: what_ < to -> what_ = to :: else fi
}

inline lower(what_, to) {
    if :: what_ > to -> what_ = to :: else fi
}

inline forget_choice() {
    me = 0; what = 0; is_heard = 0; is_idle = 0; time = 0
}

inline forget_window(m) {
    row[m].who = 0; row[m].from = 0; row[m].until = 0
}

inline forget_request(i) {
    q[i].kind = 0; q[i].where = 0; q[i].who = 0; q[i].lease = 0; q[i].wanted = 0; q[i].serial = 0;
    q[i].branch = 0; q[i].till = 0; q[i].below = 0; q[i].displaces = 0; q[i].unmoved = 0; q[i].own = 0; q[i].released = 0; r = 0;
    number = 0; below = 0; refused = 0; granted = 0
}

/* At any time below until; afterwards `time` is the one that was used, or too late. */
inline draw(until_, shard, m) {
    if
    :: time <= END && time < until_ ->
        assert(!(already(shard, m) & (1 << time))); /* L1 */
        used[shard].by[m] = used[shard].by[m] | (1 << time)
    :: else -> time = NEVER
    fi
}

inline use(m) {
    raise(time, row[m].from);
    draw((row[m].sealed && BUG == RELEASED_DRAWS -> NO_END : row[m].until), shard_of(row[m].where), m)
}

/* ---- the registry ---- */

#define is_confirmed(r) (!t[r].set_back && \
    (!t[r].elsewhere || BUG == NO_PLACE) && (t[r].steps == 0 || BUG == NO_TIMELINE))

/* Whether a receipt is of a grant that the registry does not know. */
#define proves(r, shown) (shown.serial > 0 && \
    (shown.branch == t[r].branch -> shown.serial > t[r].serial : shown.till > t[r].not_before))

inline check(i) {
    refused = !is_confirmed(r);
    if
    :: !refused && proves(r, q[i]) && BUG != NO_SERIAL && (q[i].branch == t[r].branch || BUG != NO_OTHER_BRANCH) ->
        assert(is_lost || BUG == CANCELLED_COUNTS);
        t[r].set_back = 1;
        refused = 1
    :: else
    fi
}

#define is_own(i) (t[r].lease == q[i].lease)
#define is_same(i) (t[r].holder == q[i].who || BUG == NO_INCARNATION || is_kin(i))
#define is_in_place(i) (place(t[r].holder) == place(q[i].who))
#define stays(i) (t[r].held && is_own(i) && is_in_place(i))
#define is_old (t[r].from < below && BUG != NO_OLD_WINDOW)
#define extends(i) (t[r].held && is_own(i) && is_same(i) && q[i].kind != JOIN && !is_old)
#define is_heir(idle) (idle && (ANY_HOLDER || BUG == INHERITS))
#define may_have(i, idle) (is_own(i) && \
    (is_same(i) || is_in_place(i) || q[i].kind == TAKE_OVER || is_heir(idle) || BUG == NO_HOLDER))
#define is_forgotten(i) (ANY_HOLDER || BUG == NO_RENEWAL || \
    (q[i].serial > t[r].serial && !t[r].changed && q[i].branch != t[r].branch))
#define may_join(i) (q[i].kind == JOIN && (!is_own(i) || BUG == NO_LATE))
#define may_take(i, idle) (t[r].held -> may_have(i, idle) : q[i].kind == TAKE_OVER || is_forgotten(i) || may_join(i))
#define comes_back(i) (stays(i) && q[i].kind != TAKE_OVER && t[r].holder != q[i].who && \
    (t[r].starts & started(q[i].who)) && BUG != NO_STARTS)

/* A window ends a lease from now, or a step after its beginning, or after what was drawn in it, if that is later. */
inline end(after, idle) {
    raise(t[r].until, after + (idle -> 2 : 1))
}

/* idle: by the registry's clock the lease has expired. */
inline grant(i, idle) {
    number = t[r].serial + STEP;
    raise(number, q[i].serial + STEP);
    refused = refused || number > SERIALS;
    if
    :: !refused && comes_back(i) ->
        assert(BUG != ALONE || q[i].kind != RENEW || runs[2 - q[i].who]); /* R15 */
        refused = 1
    :: else
    fi;
    if
    :: !refused && extends(i) ->
        end(q[i].wanted, idle);
        granted = 1
    :: !refused && !extends(i) && may_take(i, idle) ->
        assert(!t[r].held || q[i].kind == TAKE_OVER || is_in_place(i) || (ANY_HOLDER && idle)); /* L2 */
        assert(t[r].held || q[i].kind == TAKE_OVER || !q[i].released || (!is_own(i) && BUG != OLDER)); /* R9 */
        assert(t[r].held || q[i].kind != RENEW || ANY_HOLDER || (q[i].branch != t[r].branch && !t[r].changed)); /* R9 */
#ifdef TWINS
        if
        :: stays(i) && t[r].holder != q[i].who && q[i].kind != TAKE_OVER -> turns++; assert(turns < 2) /* R15 */
        :: stays(i) && t[r].holder == q[i].who -> skip
        :: else -> turns = 0
        fi;
#endif
        t[r].starts = (stays(i) -> t[r].starts : 0) | started(q[i].who);
        t[r].from = q[i].wanted;
        raise(t[r].from, (BUG == NO_FROM -> 0 : t[r].until));
        raise(t[r].from, below);
        lower(t[r].from, NEVER);
        t[r].until = 0;
        end(t[r].from, idle);
        t[r].held = 1;
        t[r].holder = q[i].who;
        t[r].lease = q[i].lease;
        granted = 1
    :: else
    fi;
    if
    :: granted ->
        t[r].serial = number;
        t[r].changed = 1;
        lower(t[r].until, NEVER);
        raise(highest, t[r].until)
    :: else
    fi
}

/* The next window begins at the end of this one. */
inline free(r_) {
    t[r_].held = 0; t[r_].holder = 0; t[r_].starts = 0; t[r_].from = 0; t[r_].changed = 1;
    t[r_].serial = t[r_].serial + STEP
}

inline give_back(i) {
    granted = !refused && is_own(i) &&
        (!t[r].held || t[r].holder == q[i].who || is_in_place(i) || BUG == NO_PLACE_OF_RETURN);
    if
    :: granted ->
        assert(!t[r].held || is_in_place(i)); /* L2 */
        raise(t[r].serial, q[i].serial);
        free(r)
    :: else
    fi
}

inline send(i, kind_, who_, lease_, where_) {
    q[i].kind = kind_; q[i].who = who_; q[i].lease = lease_; q[i].where = where_; q[i].wanted = time
}

/* forget_request() comes next. */
inline deliver(i, idle) {
    r = q[i].where;
    below = (BUG == NO_COMMITTED -> q[i].below : t[r].not_before);
    check(i);
    if
    :: q[i].kind == RETURN -> give_back(i)
    :: q[i].kind == TAKE_OVER && t[r].serial != q[i].displaces && BUG != ANY_SERIAL -> skip
    :: else ->
        assert(q[i].kind != TAKE_OVER || t[r].serial == q[i].displaces); /* R19 */
        grant(i, idle)
    fi
}

/* ---- a member ---- */

inline seal(m) {
    row[m].sealed = 1;
    forget_window(m)
}

/* A lease that begins has a new number; a join that is repeated, because it was not answered, keeps it. */
inline begin_lease(m) {
    leases++; row[m].lease = leases; row[m].sealed = 0
}

#ifdef SESSIONS
inline forget_kept(k) {
    kept[k].who = 0; kept[k].from = 0; kept[k].until = 0; kept[k].entered = 0
}

inline forget_answer(s) {
    answer[s].who = 0; answer[s].lease = 0; answer[s].serial = 0; answer[s].from = 0; answer[s].until = 0;
    answer[s].own = 0
}

inline reply(s) {
    answer[s].who = t[r].holder; answer[s].lease = q[LATE].lease; answer[s].serial = t[r].serial;
    answer[s].from = t[r].from; answer[s].until = t[r].until; answer[s].own = q[LATE].own
}

#define is_expected(s) (BUG == LATE_ANSWER_STORED || \
    (answer[s].serial >= row[s].serial && (answer[s].lease == row[s].lease || BUG == ANY_REGISTRY)))

inline store(s) {
    if
    :: answer[s].own && answer[s].lease == kept[s].lease && answer[s].until > kept[s].until ->
        kept[s].entered = kept[s].entered && kept[s].who == answer[s].who && kept[s].from == answer[s].from;
        kept[s].who = answer[s].who; kept[s].from = answer[s].from; kept[s].until = answer[s].until
    :: !answer[s].own && !row[s].sealed && is_expected(s) ->
        row[s].who = answer[s].who; row[s].serial = answer[s].serial;
        row[s].from = answer[s].from; row[s].until = answer[s].until
    :: else
    fi;
    forget_answer(s)
}

/* With a snapshot of its own. A session that finds another lease's window looks again. */
inline read_window(k, s) {
    if
    :: is_current(row[s].who, s) && (kept[k].lease == row[s].lease || BUG == ANY_LEASE) ->
        kept[k].entered = kept[k].entered && kept[k].who == row[s].who && kept[k].from == row[s].from;
        kept[k].who = row[s].who; kept[k].from = row[s].from; kept[k].until = row[s].until
    :: else -> forget_kept(k)
    fi
}
#endif

#ifdef PAGES
/* Whether a window of this incarnation may be used on the page as it is now. */
#define fits(incarnation, s) (is_current(incarnation, s) && \
    (moved[s] == 0 || moved[s] == incarnation || BUG == MOVED_KEEPS_WINDOW))
#define may_draw(k) fits(kept[k].who, server_of(k))
#define may_at_once(k) ((kept[k].entered || BUG == AT_ONCE_UNENTERED) && \
    is_current(kept[k].who, server_of(k)) && moved[server_of(k)] == 0)

/* Under the page's lock. A draw at once does not read the window's start: earlier draws in the window are on the page,
 * if that is still ours. */
inline draw_from(k, s, from_) {
    raise(time, next[s]);
    raise(time, from_);
    draw((BUG == NO_UNTIL -> NO_END : kept[k].until), 0, 0);
    if
    :: time <= END ->
        next[s] = time + 1;
        moved[s] = 0;
        kept[k].entered = 1
    :: else
    fi;
    forget_choice()
}

inline begin_incarnation(s, kin) {
    begun++; at[begun] = s; family[begun] = kin
}

/* From now on the row is that of an older family. */
inline begin_family(s) {
    begin_incarnation(s, begun); /* the new one */
    base[s] = begun;
    if :: server_of(0) == s -> forget_kept(0) :: else fi;
    if :: server_of(1) == s -> forget_kept(1) :: else fi;
    forget_answer(s);
    if :: BUG != TRUST_ROW -> forget_window(s) :: else fi
}

/* A request for the page as a session has seen it, by its worker or by itself. */
inline ask_for_page(s, kind_) {
    send(LATE, kind_, base[s], 0, 0);
    q[LATE].unmoved = (moved[s] == 0);
    if :: moved[s] != 0 -> q[LATE].who = moved[s] :: else fi
}

/* Its message is lost, or does later what evict_shard does. Sessions that keep the window, and an answer that comes
 * later, may use it: it stays this incarnation's. */
inline release_page(s) {
    if
    :: BUG == RELEASE_SHORTENS && t[0].held && t[0].holder == row[s].who && moved[s] == 0 ->
        t[0].held = 0;
        t[0].until = next[s];
        raise(t[0].until, t[0].from)
    :: else
    fi;
    forget_window(s)
}

#define may_release(s) (row[s].who != 0 && family[row[s].who] == base[s])
#define may_ask(s) (runs[s] && q[LATE].kind == 0 && answer[s].until == 0)
#endif

#ifdef TWO_REGISTRIES
#define may_ask(s) (q[LATE].kind == 0 && answer[s].until == 0)
#define leads_to (BUG == CONNECTION_KEPT && is_linked -> link : row[0].where)
bit is_linked; /* the worker has kept the connection */
bit link;      /* where it leads */

inline keep_connection(to) {
    if :: BUG == CONNECTION_KEPT -> link = to; is_linked = 1 :: else fi
}

/* The message reaches the registry, or the worker tries again until it does. */
inline release_shard() {
    seal(0);
    send(NOW, RETURN, 0, row[0].lease, row[0].where);
    keep_connection(row[0].where);
    deliver(NOW, 0);
    forget_request(NOW);
    row[0].where = 0; row[0].lease = 0; row[0].serial = 0
}

/* The other generator: as members 1 and 2, one for each registry. It takes what is free. */
inline take_other(m) {
    if
    :: !t[m - 1].held ->
        send(NOW, TAKE_OVER, m, LEASES + 1, m - 1);
        q[NOW].displaces = t[m - 1].serial;
        deliver(NOW, 0);
        if :: granted -> row[m].from = t[m - 1].from; row[m].until = t[m - 1].until :: else fi;
        forget_request(NOW)
    :: else
    fi
}
#endif

#ifndef SESSIONS
inline receive(r_, m) {
    row[m].serial = t[r_].serial; row[m].branch = t[r_].branch; row[m].till = t[r_].until
}

inline hear(r_, m) {
    row[m].from = t[r_].from;
    row[m].until = t[r_].until;
    receive(r_, m)
}

/* The first time above all that it has used. */
#define times(m) used[0].by[m]
#define tick(m) (times(m) == 0 -> 0 : (times(m) < 2 -> 1 : (times(m) < 4 -> 2 : (times(m) < 8 -> 3 : 4))))

inline ask(i, m, kind_) {
    if
    :: kind_ == JOIN && row[m].sealed -> begin_lease(m)
    :: kind_ == RETURN -> seal(m)
    :: else
    fi;
    raise(time, tick(m));
    if :: kind_ == RETURN -> time = 0 :: else fi;
    send(i, kind_, m, row[m].lease, row[m].where);
    q[i].serial = row[m].serial;
    q[i].branch = row[m].branch;
    q[i].till = row[m].till;
    q[i].below = (BUG == NO_COMMITTED -> t[row[m].where].not_before : 0);
    q[i].displaces = (kind_ == TAKE_OVER -> t[row[m].where].serial : 0)
}

/* A request that arrives at once; its answer is received, or lost. With a standby only the first step is done. */
inline request(m, kind_, heard, idle) {
    ask(NOW, m, kind_);
    deliver(NOW, idle);
    if
#ifdef STANDBY
    :: granted && heard -> pending = m + 1; pending_serial = t[0].serial
#else
    :: granted && heard -> hear(r, m)
#endif
    :: else
    fi;
    forget_request(NOW)
}

inline release(m, heard) {
    ask(NOW, m, RETURN);
    deliver(NOW, 0);
    if
    :: granted && heard ->
        row[m].lease = 0; /* no more requests of this lease */
#ifdef STANDBY
        copy_table(1, 0);
#endif
        receive(r, m);
        q[LATE].released = q[LATE].released || (q[LATE].kind != 0 && q[LATE].who == m && r == 0)
    :: else
    fi;
    forget_request(NOW)
}

inline copy_table(to, source) {
    t[to].holder = t[source].holder; t[to].lease = t[source].lease; t[to].held = t[source].held;
    t[to].from = t[source].from; t[to].until = t[source].until; t[to].serial = t[source].serial;
    t[to].changed = t[source].changed; t[to].starts = t[source].starts; t[to].branch = t[source].branch;
    t[to].not_before = t[source].not_before; t[to].set_back = t[source].set_back;
    t[to].restored = t[source].restored; t[to].elsewhere = t[source].elsewhere; t[to].steps = t[source].steps
}

inline forget_pending() {
    pending = 0; pending_serial = 0
}

/* The second step: a receipt for what is committed here, and has reached the standby. */
inline give_receipt(m) {
    if
    :: t[0].serial == pending_serial && is_confirmed(0) && !row[m].sealed && t[0].lease == row[m].lease ->
        if :: BUG != CANCELLED_COUNTS -> copy_table(1, 0) :: else fi;
        hear(0, m)
    :: else
    fi;
    forget_pending()
}

/* Only the standby is left. Nothing is lost that anybody has a receipt of. */
inline fail_over() {
    changes++;
    copy_table(0, 1);
    t[0].steps++;
    forget_pending();
    q[LATE].released = 0
}

/* Back to the backup. The registry's place does not change: `elsewhere` and `steps` are the backup's, plus changes. */
inline restore() {
    changes++;
    copy_table(0, 1);
    t[0].restored = t[0].restored && BUG == AGAIN_AFTER_RESTART;
    is_lost = 1;
    q[LATE].released = 0
}

inline move_timeline(lost, target) {
    t[0].steps++; at_target = target; last_lost = lost
}

inline move_place(lost) {
    t[0].elsewhere = 1; at_target = 0; is_plain = 0; last_lost = lost
}

inline confirm() {
    t[0].elsewhere = 0; t[0].steps = 0; is_plain = 1; last_lost = 0; at_target = 0
}

/* The second call in a row, with no change of the shard in between, changes nothing. Else nothing that is lost ends
 * later than max_ahead and a lease after what the registry knows. */
inline was_restored() {
    if
    :: t[0].restored && !t[0].changed && is_confirmed(0) && BUG != EACH_TIME -> skip
    :: else ->
        t[0].not_before = t[0].not_before + (BUG == EACH_TIME);
        raise(t[0].not_before, t[0].until);
        if :: BUG != BELIEVES_CLOCK -> raise(t[0].not_before, highest) :: else fi;
        assert(t[0].not_before <= highest || is_lost); /* no further than needed */
        t[0].set_back = 0;
        t[0].restored = 1;
        t[0].changed = 0;
        is_lost = 0;
        if :: BUG != NO_BRANCH -> branches++; t[0].branch = branches :: else fi;
        confirm()
    fi
}

#define needs_word (t[0].elsewhere || t[0].steps > 0)
#define may_say_moved (!t[0].set_back && needs_word && (t[0].steps <= 1 || BUG == NO_SUCCESSOR) && \
    (!at_target || BUG == NO_TARGET) && (!is_lost || (is_plain && (!last_lost || at_target)) || BUG == LIAR))

/* The member has a receipt of a grant that the backup does not have. */
#define knows(m) (runs[m] && row[m].branch == t[0].branch && proves(1, row[m]))

inline begin(m, source) {
    runs[m] = 1; row[m].lease = row[source].lease; row[m].serial = row[source].serial;
    row[m].sealed = row[source].sealed; row[m].branch = row[source].branch; row[m].till = row[source].till
}

#define may_join_now(m) (!row[m].sealed || leases < LEASES)

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
    :: may_join_now(me) -> what = JOIN
    :: !row[me].sealed -> what = RENEW
    :: !row[me].sealed -> what = TAKE_OVER
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
    :: may_join_now(me) -> what = JOIN
    :: row[me].serial > 0 && !row[me].sealed -> what = RENEW
    :: row[me].until > 0 -> what = RETURN
#ifdef LATE_TAKEOVER
    :: !row[me].sealed -> what = TAKE_OVER
#endif
    :: else
    fi
}
#endif

init {
    d_step {
        runs[0] = 1;
        branches = 1;
        t[0].branch = 1;
        is_plain = 1;
#ifdef AGAIN
        t[0].restored = 1;
#endif
#ifdef PAGES
        begin_family(0);
        moved[0] = base[0] /* fresh storage */
#else
        row[0].sealed = 1;
#ifdef TWO_REGISTRIES
        row[2].where = 1;
        t[1].branch = 1
#else
        row[1].sealed = 1;
        row[2].sealed = 1;
        copy_table(1, 0)
#endif
#endif
    }
    do
    :: d_step { time == 0 -> skip } /* all have reached a bound */
    :: d_step { q[LATE].kind != 0 -> forget_request(LATE) }
    :: atomic { q[LATE].kind != 0 && t[q[LATE].where].serial < SERIALS ->
        select(is_idle : 0 .. 1);
#ifdef SESSIONS
        select(time : 0 .. END);
#elif defined(HEARD)
        select(is_heard : 0 .. 1);
#endif
        d_step {
#ifdef SESSIONS
            q[LATE].wanted = time; /* what it was when the request was sent: nothing else reads it */
            deliver(LATE, is_idle);
            if :: granted && is_awaited(q[LATE]) -> reply(place(q[LATE].who)) :: else fi;
#else
            deliver(LATE, is_idle);
            if :: granted && is_heard && is_awaited(q[LATE]) -> hear(0, q[LATE].who) :: else fi;
#endif
            forget_request(LATE);
            forget_choice()
        } }
#if defined(PAGES) || defined(EVICT)
    :: d_step { is_confirmed(0) && t[0].held && t[0].serial < SERIALS -> free(0) }
#endif

#ifdef SESSIONS
    :: d_step { answer[0].until > 0 -> store(0) }
    :: d_step { answer[1].until > 0 -> store(1) }
    :: d_step { answer[0].until > 0 -> forget_answer(0) }
    :: d_step { answer[1].until > 0 -> forget_answer(1) }
#endif

#ifdef PAGES
    :: atomic { may_draw(0) -> select(time : 0 .. END); d_step { draw_from(0, server_of(0), kept[0].from) } }
    :: atomic { may_draw(1) -> select(time : 0 .. END); d_step { draw_from(1, server_of(1), kept[1].from) } }
    :: atomic { may_at_once(0) -> select(time : 0 .. END); d_step { draw_from(0, server_of(0), 0) } }
    :: atomic { may_at_once(1) -> select(time : 0 .. END); d_step { draw_from(1, server_of(1), 0) } }
    :: d_step { runs[server_of(0)] -> read_window(0, server_of(0)) }
    :: d_step { runs[server_of(1)] -> read_window(1, server_of(1)) }
    :: d_step { may_ask(0) -> ask_for_page(0, RENEW) }
    :: d_step { may_ask(0) -> ask_for_page(0, RENEW); q[LATE].own = 1 }
    :: d_step { may_ask(1) -> ask_for_page(1, RENEW) }
    :: d_step { may_ask(1) -> ask_for_page(1, TAKE_OVER) }
    :: d_step { may_release(0) -> release_page(0) }
    :: d_step { may_release(1) -> release_page(1) }

    /* setval; RESTART; a restart of the server, perhaps with an older page: point-in-time recovery, in place */
    :: atomic { begun < INCARNATIONS -> select(time : 0 .. END);
        d_step { begin_incarnation(0, base[0]); moved[0] = begun; next[0] = time; time = 0 } }
    :: d_step { begun < INCARNATIONS -> begin_family(0); moved[0] = base[0]; next[0] = 0 }
    :: atomic { begun < INCARNATIONS -> select(time : 0 .. END);
        d_step { begin_family(0); moved[0] = (moved[0] != 0 -> base[0] : 0); lower(next[0], time); time = 0 } }

    /* A copy, perhaps of an older state; or a stranger, with a page of its own. */
    :: atomic { begun < INCARNATIONS && !runs[1] -> select(time : 0 .. END);
        d_step {
            runs[1] = 1;
            begin_family(1);
            moved[1] = (moved[0] != 0 -> base[1] : 0);
            next[1] = next[0];
            lower(next[1], time);
            time = 0;
            if
            :: BUG == TRUST_ROW -> row[1].who = row[0].who; row[1].from = row[0].from; row[1].until = row[0].until
            :: else
            fi
        } }
    :: d_step { begun < INCARNATIONS && !runs[1] -> runs[1] = 1; begin_family(1); moved[1] = base[1] }
#elif defined(TWO_REGISTRIES)
    :: d_step { !row[0].sealed -> kept[0].where = row[0].where; kept[0].lease = row[0].lease; forget_kept(0) }
    :: d_step { kept[0].lease > 0 && row[0].until > 0 -> read_window(0, 0) }
    :: atomic { kept[0].until > 0 -> select(time : 0 .. END);
        d_step { raise(time, kept[0].from); draw(kept[0].until, kept[0].where, 0); forget_choice() } }
    :: atomic { row[0].sealed && leases < LEASES -> select(is_idle : 0 .. 1); /* lease_shard */
        d_step { row[0].where = is_idle; begin_lease(0); forget_choice() } }
    :: d_step { !row[0].sealed && may_ask(0) ->
        send(LATE, (row[0].until > 0 -> RENEW : JOIN), 0, row[0].lease, 0);
        q[LATE].where = leads_to;
        keep_connection(q[LATE].where) }
    :: d_step { kept[0].lease > 0 && may_ask(0) -> send(LATE, RENEW, 0, kept[0].lease, kept[0].where); q[LATE].own = 1 }
    :: d_step { !row[0].sealed -> release_shard() }
    :: d_step { is_linked -> is_linked = 0; link = 0 }

    :: atomic { select(is_idle : 0 .. 1); select(time : 0 .. END); d_step { me = 1 + is_idle; use(me); forget_choice() } }
    :: atomic { select(is_idle : 0 .. 1); select(time : 0 .. END); d_step { me = 1 + is_idle; take_other(me); forget_choice() } }
    :: d_step { t[0].held && t[0].holder == 1 -> free(0) }
    :: d_step { t[1].held && t[1].holder == 2 -> free(1) }
#else
    :: atomic { any_member(); select(time : 0 .. END); d_step { use(me); forget_choice() } }
    :: atomic { any_member(); select(time : 0 .. END); any_request();
        d_step {
            if :: what != 0 -> request(me, what, is_heard, is_idle) :: else fi;
            forget_choice()
        } }
    :: atomic { any_member(); select(is_heard : 0 .. 1);
        d_step {
            if
            :: row[me].serial > 0 && row[me].lease > 0 && t[row[me].where].serial < SERIALS -> release(me, is_heard)
            :: else
            fi;
            forget_choice()
        } }
    :: atomic { q[LATE].kind == 0 -> any_member(); select(time : 0 .. END); any_late_request();
        d_step {
            if :: what != 0 && row[me].where == 0 -> ask(LATE, me, what) :: else fi;
            forget_choice()
        } }

    /* a copy of the member, a stranger; a restart in its place */
#ifndef STRANGERS
    :: d_step { runs[0] && !runs[1] -> begin(1, 0) }
#endif
    :: d_step { runs[0] && !runs[1] -> runs[1] = 1 }
#ifdef TWINS
    :: d_step { runs[0] && !runs[2] -> begin(2, 0) }
#endif
#ifdef RESTART
    :: d_step { runs[0] && !runs[2] -> begin(2, 0); runs[0] = 0; forget_window(0) }
#endif

#ifdef STANDBY
    :: d_step { pending > 0 -> give_receipt(pending - 1) }
    :: d_step { pending > 0 -> forget_pending() }
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
    :: d_step { has_saved && changes < CHANGES -> restore(); move_timeline(1, 0) }
    :: d_step { has_saved && changes < CHANGES -> restore(); move_timeline(1, 1) }
    :: d_step { has_saved && changes < CHANGES -> restore(); move_place(1) }
    :: d_step { changes < CHANGES && t[0].steps < 3 -> changes++; move_timeline(0, 0) }
    :: d_step { changes < CHANGES -> changes++; move_place(0) }
    /* A snapshot restored in the same place and on the same timeline; the first request proves a lost grant. */
    :: atomic { !is_lost && has_saved && changes < CHANGES && is_confirmed(0) && t[1].steps == 0 && !t[1].elsewhere &&
        (knows(0) || knows(1)) ->
        if
        :: knows(0) -> me = 0
        :: knows(1) -> me = 1
        fi;
        d_step { restore(); last_lost = 1; request(me, RENEW, 0, 0); forget_choice() } }
    /* The owner's calls. The owner may know only the last change, or mistake a recovery to a target for a failover. */
    :: d_step { needs_word || t[0].set_back -> was_restored() }
    :: d_step { may_say_moved -> confirm() }
#endif
#ifdef CLONE
    :: d_step { !has_saved && runs[0] && !runs[1] ->
        has_saved = 1; row[1].where = 1; copy_table(1, 0); t[1].elsewhere = 1; begin(1, 0) }
#endif
#endif
    od
}
