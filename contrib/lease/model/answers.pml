/* Answers of registries that come late, or from another one, for a generator that leases from one of two registries,
 * releases it and leases again, while a session goes on that has begun with an earlier lease. Another generator leases
 * from both, too. Checked: L1, no time of a shard is used by both. README.md lists the errors that -D makes. */

#ifndef END /* the last time that is used */
#define END 1
#endif
#ifndef SERIALS
#define SERIALS 2
#endif
#ifndef LEASES
#define LEASES 3
#endif
#define REGISTRIES 2 /* of each, one shard */
#define NONE 2

/* The registries: their shards' last windows, who has them, 0 nobody, 1 the generator, 2 the other one; and by which
 * lease the generator has, or had, them. */
byte holder[REGISTRIES];
byte until[REGISTRIES];
byte serial[REGISTRIES];
byte lease_of[REGISTRIES];

/* The generator's row, and its window's. */
byte where = NONE;
byte lease;
byte window_lease;
byte seen; /* the serial of the window */
byte from;
byte to;

/* A session: which lease it has loaded, and the window that it uses. */
byte its_where = NONE;
byte its_lease;
byte its_from;
byte its_to;

byte other_from[REGISTRIES];
byte other_to[REGISTRIES];

/* A request: where and by which lease it was made, and by whom: the session keeps the answer for itself, and the worker
 * stores it. The registry that it was sent to; and its answer. */
bit waits;
bit is_own;
byte asked;
byte asked_lease;
byte sent_to;
bit answered;
byte new_serial;
byte new_from;
byte new_to;

byte link = NONE; /* where the connection leads that the worker has kept */
byte used[REGISTRIES]; /* by the generator, a bit for each time */
byte other[REGISTRIES];
byte s;
byte time;

inline any_registry() {
    if
    :: s = 0
    :: s = 1
    fi
}

inline any_time() {
    if
    :: time = 0
    :: END > 0 -> time = 1
    :: END > 1 -> time = 2
    fi
}

inline clear() {
    s = 0;
    time = 0
}

inline forget_request() {
    waits = 0;
    is_own = 0;
    asked = 0;
    asked_lease = 0;
    sent_to = 0;
    answered = 0;
    new_serial = 0;
    new_from = 0;
    new_to = 0
}

/* What is drawn in the session's window is drawn as an id of the shard that it has loaded. */
inline use() {
    if
    :: its_from <= time && time < its_to ->
        assert(!(other[its_where] & (1 << time)));
        used[its_where] = used[its_where] | (1 << time)
    :: else
    fi;
    clear()
}

inline use_other() {
    if
    :: other_from[s] <= time && time < other_to[s] ->
        assert(!(used[s] & (1 << time)));
        other[s] = other[s] | (1 << time)
    :: else
    fi;
    clear()
}

inline load() {
    its_where = where;
    its_lease = lease;
    its_from = 0;
    its_to = 0
}

/* A session that finds another lease's window looks again. */
#ifdef ANY_LEASE
#define is_its_own 1
#else
#define is_its_own (window_lease == its_lease)
#endif

inline read_window() {
    if
    :: is_its_own && to > its_to -> its_from = from; its_to = to
    :: else
    fi
}

inline grant_other() {
    if
    :: holder[s] == 0 && serial[s] < SERIALS ->
        holder[s] = 2;
        serial[s]++;
        other_from[s] = (until[s] > time -> until[s] : time);
        other_to[s] = other_from[s] + 1;
        until[s] = other_to[s]
    :: else
    fi;
    clear()
}

#ifdef CONNECTION_KEPT
#define leads_to (link != NONE -> link : where)
#else
#define leads_to where
#endif

inline send() {
    waits = 1;
    asked = where;
    asked_lease = lease;
    sent_to = leads_to;
    link = sent_to
}

inline send_own() {
    waits = 1;
    is_own = 1;
    asked = its_where;
    asked_lease = its_lease;
    sent_to = its_where
}

/* A request to join that comes after the release of its lease is refused, and so is a renewal by another lease. */
inline grant() {
    if
    :: serial[sent_to] < SERIALS && (holder[sent_to] == 0 && lease_of[sent_to] != asked_lease && !is_own
            || holder[sent_to] == 1 && lease_of[sent_to] == asked_lease) ->
        holder[sent_to] = 1;
        lease_of[sent_to] = asked_lease;
        serial[sent_to]++;
        new_serial = serial[sent_to];
        new_from = (until[sent_to] > time -> until[sent_to] : time);
        new_to = new_from + 1;
        until[sent_to] = new_to;
        answered = 1
    :: else -> forget_request()
    fi;
    clear()
}

#ifdef LATE_ANSWER_STORED
#define is_expected 1
#elif defined(ANY_REGISTRY)
#define is_expected (new_serial > seen)
#else
#define is_expected (asked_lease == lease && new_serial > seen)
#endif

inline store() {
    if
    :: is_own -> /* to everyone else it is a lost answer */
        if
        :: its_lease == asked_lease && new_to > its_to -> its_from = new_from; its_to = new_to
        :: else
        fi
    :: !is_own && where != NONE && is_expected ->
        window_lease = lease;
        seen = new_serial;
        from = new_from;
        to = new_to
    :: else
    fi;
    forget_request()
}

/* The message reaches the registry, or the worker tries again until it does. */
inline release() {
    if
    :: holder[where] == 1 && lease_of[where] == lease -> holder[where] = 0
    :: else
    fi;
    link = where;
    where = NONE;
    window_lease = 0;
    seen = 0;
    from = 0;
    to = 0
}

init {
    do
    :: d_step { where != NONE -> load() }
    :: d_step { its_where != NONE && to > 0 -> read_window() }
    :: atomic { its_where != NONE && its_to > 0 -> any_time(); d_step { use() } }
    :: atomic { any_registry(); any_time(); d_step { use_other() } }
    :: atomic { any_registry(); any_time(); d_step { grant_other() } }
    :: d_step { holder[0] == 2 -> holder[0] = 0 }
    :: d_step { holder[1] == 2 -> holder[1] = 0 }

    :: atomic { where == NONE && lease < LEASES -> any_registry(); d_step { where = s; lease++; clear() } } /* lease_shard */
    :: d_step { where != NONE && !waits -> send() }
    :: d_step { its_where != NONE && !waits -> send_own() }
    :: atomic { waits && !answered -> any_time(); d_step { grant() } }
    :: d_step { answered -> store() }
    :: d_step { waits -> forget_request() }
    :: d_step { where != NONE -> release() }
    :: d_step { link != NONE -> link = NONE }
    od
}
