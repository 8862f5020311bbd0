/* Answers of the registry that come late, for a generator that leases one of two shards, releases it and leases again.
 * Another generator leases shards, too. Checked: L1, no time of a shard is used by both. README.md lists the errors
 * that -D makes. */

#ifndef END /* the last time that is used */
#define END 2
#endif
#ifndef SERIALS
#define SERIALS 3
#endif
#define NEVER (END + 1) /* any time that is too late */
#define SHARDS 2
#define NO_SHARD 2

/* The registry: each shard's last window, and who has it: 0 nobody, 1 the generator, 2 the other one. */
byte holder[SHARDS];
byte until[SHARDS];
byte serial[SHARDS];

/* The generator's row; the other generator's window of each shard. */
byte shard = NO_SHARD;
byte seen; /* the serial of the window */
byte from;
byte to;
byte other_from[SHARDS];
byte other_to[SHARDS];

/* A request: shard and serial of the row when it was sent; and its answer. */
bit waits;
byte asked;
byte asked_seen;
bit answered;
byte new_serial;
byte new_from;
byte new_to;

byte used[SHARDS]; /* by the generator, a bit for each time */
byte other[SHARDS];
byte s;
byte time;

inline any_shard() {
    if
    :: s = 0
    :: s = 1
    fi
}

inline any_time() {
    if
    :: time = 0
    :: time = 1
    :: time = 2
    fi
}

inline clear() {
    s = 0;
    time = 0
}

inline forget_request() {
    waits = 0;
    asked = 0;
    asked_seen = 0;
    answered = 0;
    new_serial = 0;
    new_from = 0;
    new_to = 0
}

/* What is drawn in the window is drawn as an id of the row's shard. */
inline use() {
    if
    :: from <= time && time < to ->
        assert(!(other[shard] & (1 << time)));
        used[shard] = used[shard] | (1 << time)
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

/* A request of an earlier lease is of an earlier origin: here it is lost. */
inline grant() {
    if
    :: (holder[asked] == 0 || holder[asked] == 1) && serial[asked] < SERIALS ->
        holder[asked] = 1;
        serial[asked]++;
        new_serial = serial[asked];
        new_from = (until[asked] > time -> until[asked] : time);
        new_to = new_from + 1;
        until[asked] = new_to;
        answered = 1
    :: else -> forget_request()
    fi;
    clear()
}

#ifdef LATE_ANSWER_STORED
#define is_expected 1
#elif defined(ANY_SHARD)
#define is_expected (asked_seen == seen)
#else
#define is_expected (asked == shard && asked_seen == seen)
#endif

inline store() {
    if
    :: shard != NO_SHARD && is_expected ->
        assert(new_serial > seen); /* a row's window never gets older */
        seen = new_serial;
        from = new_from;
        to = new_to
    :: else
    fi;
    forget_request()
}

/* The message reaches the registry, or the worker tries again until it does. */
inline release() {
    holder[shard] = 0;
    serial[shard] = (serial[shard] < SERIALS -> serial[shard] + 1 : SERIALS);
    shard = NO_SHARD;
    seen = 0;
    from = 0;
    to = 0
}

init {
    do
    :: atomic { shard != NO_SHARD && to > 0 -> any_time(); d_step { use() } }
    :: atomic { any_shard(); any_time(); d_step { use_other() } }
    :: atomic { any_shard(); any_time(); d_step { grant_other() } }
    :: d_step { holder[0] == 2 -> holder[0] = 0 }
    :: d_step { holder[1] == 2 -> holder[1] = 0 }

    :: atomic { shard == NO_SHARD -> any_shard(); d_step { shard = s; clear() } } /* lease_shard, not answered yet */
    :: d_step { shard != NO_SHARD && !waits -> waits = 1; asked = shard; asked_seen = seen }
    :: atomic { waits && !answered && asked == shard -> any_time(); d_step { grant() } }
    :: d_step { answered -> store() }
    :: d_step { waits -> forget_request() }
    :: d_step { shard != NO_SHARD -> release() }
    od
}
