#!/usr/bin/env bash
# Has spin search every state of the models: with all rules they must hold, without one they must break as expected.
# Each line of the table below is a search; run.sh WORD... runs those whose line has one of the words, and run.sh '*'
# those of make test. Prints a line for each, and the steps to an error that is not expected; with SHORTEST=1 the shortest
# ones to any error. FULL=1 has larger bounds.
set -uo pipefail
model=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${SANDBOX:-/tmp}/model.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
at_once=2
optimize=-O1
# These, and most that find an error, take less time than their compilation.
[[ $* != '*' ]] || optimize=-O0

# The effect of each broken rule, as pan prints the assertion.
declare -A sign=([twice]='&(1<<tick' [uncovered]='(covered>=' [stuck]='page.last==' [ahead]='<=lead'
    [pace]='(passed>=' [waits]='looks[me]<=' [layouts]='(told_layout==' [raised]='>raised)' [queue]='!=up_to[me]'
    [overlap]='used[' [taken]='.holder==1)==(' [undone]='.released' [renewed]='.branch!=' [displaced]='.displaces)'
    [turns]='(turns<2)' [alone]='runs[(2-' [bound]='.not_before<=highest)' [stopped]='(is_lost||'
    [below]='(tick>before)' [future]='<=clock)' [unread]='~(delivered))==0)' [unlogged]='&((1<<(stored*'
    [decreases]='(settled>=bound)' [far]='(lead<=3)')

# Depth-first search of all states: no reduction, no hashing of states to bits.
search() {
    spin "$@" -a "$file" >search.log 2>&1 &&
        gcc "$optimize" -w -DSAFETY -DNOREDUCE ${SHORTEST:+-DBFS} -DMEMLIM=6000 -o pan pan.c >>search.log 2>&1 &&
        ./pan -m200000 -n >>search.log 2>&1
}

is_complete() {
    grep -q 'errors: 0$' search.log &&
        ! grep -qE 'not completed|too small|out of memory|reached -DMEMLIM|hit the' search.log
}

# run EFFECT MODEL NAME OPTION...: in a directory of its own, which stays if it fails.
run() {
    local effect=$1 file=$2.pml name=$3 folder option result=FAILED
    shift 3
    folder=$(mktemp -d -p "$work") && cd "$folder" && cp "$model"/*.pml "$model"/../../contrib/*/model/*.pml . || return
    # What is given takes the place of what the model defines.
    for option in "${@#-D}"; do
        sed -i "/^#define ${option%%=*} /d" "$file"
    done
    SECONDS=0
    [[ $effect == ok ]] || optimize=-O0
    search "$@"
    if [[ $effect == ok ]]; then
        ! is_complete || result=ok
    elif grep -F 'assertion violated' search.log | grep -qF -- "${sign[$effect]}"; then
        result=ok
    fi
    printf '%-7s%12s states %4d s  %s: %s\n' \
        "$result" "$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' search.log)" "$SECONDS" "$effect" "$name"
    [[ $result != ok || -n ${SHORTEST:-} ]] || { rm -rf "$folder"; return; }
    tail -n 40 search.log
    [[ ! -f $file.trail ]] || spin "$@" -t -p "$file" | grep -v goto | tail -n 200
}

is_wanted() {
    local word
    [[ $1 != *+' '* || -n ${FULL:-} ]] || return 1
    (($# > 1)) || return 0
    for word in "${@:2}"; do
        [[ $1 != *"$word"* ]] || return 0
    done
    return 1
}

smallest='TICKS=2 CRASHES=1'
small='TICKS=3 CRASHES=1'
middle='TICKS=4 CRASHES=1'
large=$small
raises="RAISE NEXTVAL $smallest"
exact=
sooner='END=2'
moved='MOVE MICROS=1 END=2'
leases='END=1'
registry='END=1 SERIALS=3 LEASES=2'
restores='END=1 SERIALS=2 LEASES=2 RESTORE'
standby='END=1 SERIALS=2 LEASES=2 STANDBY CHANGES=1'
again='END=1 SERIALS=1 LEASES=2 AGAIN CHANGES=1 STRANGERS'
twins='END=1 SERIALS=3 LEASES=1 TWINS STRANGERS'
liar='END=1 SERIALS=2 LEASES=2 RESTORE CHANGES=1 BUG=LIAR'
two='TWO_REGISTRIES END=1 SERIALS=3'
moved_back='HONEST END=1 MOVE=1 MOVE_BACK'
settled='MOVES=1 NUMBERS=1 TIMES=4'
if [[ -n ${FULL:-} ]]; then
    middle='TICKS=4 CRASHES=2'
    large='TICKS=4 CRASHES=1'
    raises="RAISE=2 NEXTVAL $smallest"
    exact='MICROS=3 END=2'
    sooner=$exact
    moved='MOVE END=2'
    leases=
    registry='SERIALS=3'
    again='END=1 SERIALS=2 LEASES=2 AGAIN CHANGES=1'
    liar='END=1 SERIALS=3 LEASES=2 RESTORE CHANGES=1 BUG=LIAR'
    settled='MOVES=1 TIMES=3'
    optimize=-O2
    at_once=1
fi

# The effect, "ok" if the model must hold, with * in make test, too, with + only with FULL; the model; what is given to
# spin as -D; and, after the colon, what spin finds.
while read -r effect file rest; do
    [[ -n $effect ]] || continue
    is_wanted "$effect $file $rest" "$@" || continue
    is_any=1
    while (($(jobs -rp | wc -l) >= at_once)); do
        wait -n
    done
    read -ra options <<<"${rest%%: *}"
    run "${effect%[*+]}" "$file" "${rest#*: }" "${options[@]/#/-D}" </dev/null &
done <<END
ok         wal $large: crashes and checkpoints
ok         wal SESSIONS=3 $small: three sessions
ok         wal NEXTVAL $small: nextval in between
ok         wal IMAGE $small: an image of the page in between
ok         wal RANGE NEXTVAL IMAGE $smallest: nextval_range, nextval, and an image of the page
ok         wal COPY $middle: a copied database
ok         wal PROMOTE SYNC $small: a synchronous standby
ok         wal PROMOTE SYNC COPY $middle: a synchronous standby, a copied database
ok         wal PROMOTE SYNC SWITCH $small: a synchronous standby, set up meanwhile
ok         wal PROMOTE LOSSY $small: an asynchronous standby, except for what it did not get
ok         wal LAYOUTS $small: one layout
ok         wal LAYOUTS COPY $small: one layout, a copied database
ok         wal LAYOUTS PROMOTE SYNC $smallest: one layout, a synchronous standby
ok         wal $raises: raise_generator
uncovered  wal BUG=NO_FLUSH $small: an id is told before its record is flushed
twice      wal ONLY_UNIQUE BUG=FLUSH_OWN_ONLY $small: only who logged flushes; another id within the record is lost
twice*     wal ONLY_UNIQUE BUG=NO_REDO_RULE $smallest: draws after a checkpoint are in no WAL that is replayed
twice      wal ONLY_UNIQUE BUG=DIRTY_AFTER_REDO_READ $small: between the two a checkpoint begins, finds nothing dirty
twice*     wal ONLY_UNIQUE BUG=NO_TICK_RULE $smallest: a tick waits for the record before, which does not cover it
twice      wal ONLY_UNIQUE BUG=NO_BEFORE_REDO_RULE $smallest: the record before is not replayed, after a checkpoint
twice      wal ONLY_UNIQUE BUG=NO_WRITER_RULE NEXTVAL $small: nextval has written a lower record in between
twice      wal ONLY_UNIQUE BUG=NO_NOTE_RULE IMAGE $smallest: an image of the page, which covers its last tick only
twice      wal ONLY_UNIQUE BUG=NO_RANGE_RULE RANGE IMAGE $smallest: the same, for nextval_range
twice      wal ONLY_UNIQUE BUG=NO_STAMP_RULE COPY $small: the copy draws from the original's remainder, without WAL
twice      wal ONLY_UNIQUE BUG=NO_LOCK $small: two sessions on the page
twice      wal ONLY_UNIQUE PROMOTE BUG=SYNC_OF_LOGGERS $small: who draws without WAL does not wait for the standby
twice      wal ONLY_UNIQUE PROMOTE SYNC SWITCH BUG=SYNC_BY_SESSION $small: the session's copy of the setting decides
queue      wal PROMOTE SYNC BUG=QUEUE_BY_PAGE_LSN $smallest: two waiters with one LSN, which core asserts against
stuck      wal BUG=KEEP_LOCK $small: a standstill
layouts    wal LAYOUTS BUG=BIND_WITHOUT_LOG $small: a crash brings back a page without the layout
raised     wal BUG=RAISE_FLUSH_ONLY $raises: nextval had come as far, in its own order; no flush covers that
twice      wal ONLY_UNIQUE PROMOTE $small: not promised, ids that an asynchronous standby has not got

ok         clock $exact: any clock
ok         clock FRESH ONLY_P1 $exact: any clock, fresh storage
ok         clock HONEST $exact: an honest clock
ok         clock HONEST AHEAD_AT_START=1 $exact: an honest clock, the generator is ahead
ok         clock HONEST RESTART $exact: an honest clock, RESTART
ok         clock ONLY_WAITS MOVE END=1: any clock, moved, nobody waits for ever
ok         clock HONEST $moved: an honest clock, moved
ok         clock HONEST MOVE SESSIONS=3 MICROS=1 END=1: an honest clock, moved, three callers
ok         clock HONEST RESTART MOVE END=1: an honest clock, moved, RESTART
ok         clock HONEST RAISE MOVE END=1: an honest clock, moved, raise_generator
ok         clock RAISE $sooner: any clock, raise_generator
ok         clock HONEST ELSEWHERE $sooner: honest clocks, raise_generator on another server
ok         clock BORROW=2 $sooner: any clock, borrowed time
ok         clock HONEST BORROW=2 $exact: an honest clock, borrowed time
ok         clock HONEST BORROW=1 RESTART $sooner: an honest clock, borrowed time, RESTART
ok         clock HONEST BORROW=1 $moved: an honest clock, borrowed time, moved
ok         clock HONEST CRASHES MICROS=1 END=4: an honest clock, crashes
ok         clock HONEST CRASHES MICROS=1 END=4 MAX_LEAD=1: the same, with little room
pace       clock BUG=KEEP_EARNED: any wait has earned a step, faster than real time
ahead      clock HONEST BUG=OVERTAKE: an id later than a slow clock
waits      clock BUG=NO_STILL_RULE: a wait for a clock that stands still
waits      clock BUG=NO_START_RESET: a wait for a clock that was set back
twice*     clock ONLY_UNIQUE HONEST RESTART BUG=NO_FRESH_WAIT END=1: ids of the millisecond of a RESTART
twice      clock ONLY_UNIQUE HONEST RESTART BUG=NO_REMEMBER: ids of a transaction that was rolled back
twice      clock ONLY_UNIQUE HONEST MOVE BUG=NO_COUNT_RULE: moved, drawn from, and moved again counts as one move
twice      clock ONLY_UNIQUE HONEST MOVE BUG=MOVED_BY_LOG_CNT_ZERO: after setval, nextval makes the page ours again
twice      clock ONLY_UNIQUE HONEST MOVE RAISE BUG=RAISE_MAKES_OURS: setval back, then raised to an id of long ago
twice      clock ONLY_UNIQUE HONEST RAISE BUG=RAISE_MAY_LOWER: raise_generator lowers
twice      clock ONLY_UNIQUE HONEST ELSEWHERE BUG=RAISE_TO_OWN_TICK: a lower shard has later ids of that time
ahead      clock HONEST BORROW=1 BUG=BORROW_WITHOUT_LIMIT: a step further ahead than allowed
ahead      clock HONEST BORROW=2 BUG=BORROW_EARLY: a step from a time not all of whose ids were told
ahead      clock HONEST BORROW=1 RESTART BUG=BORROW_WHEN_MOVED: the same, on fresh storage
far        clock HONEST CRASHES MICROS=1 END=4 BUG=CRASHES_ADD_UP: each crash logs as far ahead of the last one
far        clock HONEST CRASHES MICROS=1 END=4 BUG=PAST_MAX_LEAD: crashes one after the other, until nothing can be drawn
twice      clock ONLY_UNIQUE HONEST BORROW=1 MOVE MICROS=1 END=2 BUG=NO_AHEAD_RULE: the clock catches up; setval back
twice      clock ONLY_UNIQUE HONEST RESTART AHEAD_AT_START=1 MOVE_AHEAD: not promised, RESTART while ahead of the clock
twice      clock ONLY_UNIQUE RESTART: not promised, a clock that is set back after RESTART
twice      clock ONLY_UNIQUE HONEST MOVE MOVE_AHEAD: not promised, setval while ahead of the clock
twice      clock ONLY_UNIQUE MOVE: not promised, a clock that is set back after setval
pace       clock FRESH: not promised, a clock that is set back between two looks at a fresh page

ok         lease PAGES $leases: a leased shard
ok         lease PAGES ONE_SERVER $leases: a leased shard, two sessions of one server
ok         lease $two: answers that come late, or from another registry
ok         lease RESTART $registry: a registry, and its member restarts
ok         lease LATE_TAKEOVER $registry: a registry, and a takeover that comes late
ok         lease $twins: a registry, and two servers in one place
ok         lease $standby: a registry with a standby
ok*        lease $again: a registry, restored once and called restored twice
ok         lease CLONE $registry: a registry, and a clone of it
ok         lease EVICT $registry: a registry that evicts
ok         lease HEARD CHANGES=1 $restores: a restored registry, with answers that come late
ok+        lease CHANGES=2 $restores: a registry, restored or moved twice
ok+        lease RESTORE CHANGES=1 END=1 SERIALS=3: a restored registry, three grants
overlap    lease PAGES BUG=NO_UNTIL: a window is used past its end, and the next holder has the same times
overlap    lease PAGES BUG=MOVED_KEEPS_WINDOW: setval back within the window
overlap    lease PAGES BUG=TRUST_ROW: the row decides whether a window may be used, and a copy has it, too
overlap    lease PAGES BUG=RELEASE_SHORTENS END=1: a session still has the window that a release has ended
overlap    lease PAGES BUG=AT_ONCE_UNENTERED: the page is before the window, in a time of another incarnation
overlap    lease CLONE BUG=NO_PLACE $registry: a clone of the registry grants its windows
overlap    lease BUG=NO_TIMELINE CHANGES=1 $restores: a registry on another timeline grants the windows again
overlap    lease BUG=NO_SUCCESSOR CHANGES=2 $restores: the first of two failovers lost a grant, registry_was_moved()
overlap    lease BUG=NO_TARGET CHANGES=1 $restores: registry_was_moved() after a recovery with a target
overlap    lease BUG=NO_SERIAL CHANGES=1 $restores: a receipt that the registry cannot know is ignored
overlap    lease BUG=NO_OTHER_BRANCH CHANGES=2 $restores: the snapshot is from before registry_was_restored()
stopped    lease BUG=NO_BRANCH CHANGES=1 $restores: after registry_was_restored() the first renewal stops the space
stopped    lease BUG=BELIEVES_CLOCK CHANGES=1 $restores: a lost window ends after the registry's rows and clock
overlap    lease BUG=NO_COMMITTED HEARD CHANGES=1 $restores: a grant sees an older not_before
overlap    lease BUG=NO_OLD_WINDOW RESTORE CHANGES=1 $registry: a window from before not_before is extended
overlap    lease BUG=NO_FROM $registry: a window begins as requested, and a copy has a clock that is behind
taken      lease BUG=NO_INCARNATION RESTART $registry: a copy has the original's window extended
taken      lease BUG=NO_HOLDER $registry: a copy displaces the original
displaced  lease LATE_TAKEOVER BUG=ANY_SERIAL $registry: a late takeover displaces a holder that came after it
taken      lease BUG=INHERITS $registry: a copy takes the shard of an idle original
taken      lease BUG=NO_PLACE_OF_RETURN $registry: a copy ends the original's lease
undone     lease BUG=NO_LATE $registry: a late join makes a released shard held
overlap    lease BUG=RELEASED_DRAWS $registry: a released generator generates ids, and the next holder has its times
renewed    lease BUG=NO_RENEWAL EVICT END=1 SERIALS=5 LEASES=1: a renewal gets an evicted shard
overlap    lease BUG=CANCELLED_COUNTS $standby: a promoted standby does not have a grant that is used
turns      lease BUG=NO_STARTS $twins: two servers in one place displace each other
bound      lease BUG=EACH_TIME $again: not_before moves on with each registry_was_restored()
overlap    lease BUG=AGAIN_AFTER_RESTART $again: a snapshot is put back between two registry_was_restored()
overlap*   lease $two BUG=LATE_ANSWER_STORED: the window of an earlier lease is used for another shard
overlap    lease $two BUG=ANY_REGISTRY: the window of another registry
overlap    lease $two BUG=CONNECTION_KEPT: one connection for the requests to two registries
overlap    lease $two BUG=ANY_LEASE: a session that has loaded an earlier lease uses the new one's window
overlap    lease $liar: not promised, registry_was_moved() although grants are lost
undone     lease BUG=OLDER STRANGERS END=1 SERIALS=5: not promised, a late join of an older lease; no id repeats
alone      lease BUG=ALONE RESTART $registry: not promised, a late request of a start in between two

ok         settled PREPARE ALTER CRASHES=1 TIMES=2: settled_below; prepared, CACHE altered, a crash
ok         settled TIMES=3: settled_below, three times
ok         settled $settled: settled_below, moved back
decreases* settled BUG=NOTES_FIRST TIMES=2: between the looks one session notes an id, and another moves the position
decreases  settled BUG=NOTE_AFTER_PAGE TIMES=2: the position is read between the id and its note
unlogged   settled PREPARE BUG=PREPARED_IGNORED TIMES=2: a prepared row below the bound is committed later
unlogged   settled BUG=OWN_IGNORED TIMES=2: a row of the calling transaction
unread     settled BUG=ONE_STATEMENT TIMES=2: a row is committed between snapshot and call
unlogged   settled BUG=POSITION_LOST CRASHES=1 TIMES=2: after a crash an id below the bound is generated
unlogged   settled BUG=ONE_NOTE $settled: a transaction's later id is from before its only note
unlogged   settled BUG=NOTE_OF_SUBTRANSACTION TIMES=2: a rollback to a savepoint releases the note
unread     settled BUG=LOCKS_RELEASED_FIRST TIMES=2: as if a commit released locks before its rows are visible
unread     settled ALTER BUG=ALTER_AT_ONCE TIMES=2: a transaction has generated ids without a note
unlogged   settled ALTER BUG=OWN_CHANGE_UNNOTED TIMES=2: it sets CACHE to 1, which a savepoint undoes
unlogged   settled ALTER BUG=READER_UNLOCKED TIMES=2: notes are switched off within the call

ok*        portable HONEST: SQL-only, an honest clock
ok         portable HONEST NEXT_IDS RAISE=1 END=3: SQL-only, an honest clock, next_ids and raise_generator
ok         portable NEXT_IDS RAISE=1: SQL-only, any clock, next_ids and raise_generator
ok         portable HONEST NEXT_IDS COPIES=2 END=3: SQL-only, two copies of the file
ok         portable HONEST MOVE=1: SQL-only, setval by others
ok         portable SESSIONS=3 GUARD=6 NUMBERS=8 $moved_back: SQL-only, setval back by others, three sessions
ok         portable HONEST RESTORE END=3: SQL-only, restored by a dump
ok         portable CRASH END=1 NUMBERS=6: SQL-only, a crash
ok         portable CRASH RAISE=1 END=1: SQL-only, a crash, raise_generator
ok+        portable HONEST SESSIONS=3 GUARD=4 NUMBERS=6: SQL-only, three sessions
ok+        portable HONEST MOVE=2 MOVE_BACK: SQL-only, setval back by others, twice
ok+        portable CRASH HONEST HONEST_AFTER: SQL-only, a crash, an honest clock
twice*     portable HONEST BUG=NO_LOCK: two sessions open one millisecond, the second sets the generator back
twice      portable HONEST BUG=MARK_FIRST: others overflow through the guard before the opener sets the generator
twice      portable HONEST MOVE=1 BUG=MARK_AFTER: setval forward, a number taken before the millisecond is opened
twice      portable HONEST MOVE=1 BUG=NO_CLOCK_AFTER: a session is delayed, and the generator moved back to that time
below      portable HONEST MOVE=1 BUG=NO_GUARD: moved back to a millisecond's end, nextval overflows into the open one
twice      portable HONEST MOVE=1 BUG=ANY_NUMBER: the same, not noticed under the lock
twice      portable HONEST MOVE=1 BUG=MOVED_AT_ONCE: ids of this millisecond, after a move
twice      portable HONEST COPIES=2 BUG=SET_BELOW: ids of a millisecond that another copy has opened
twice      portable HONEST COPIES=2 BUG=BELOW_TICK: nextval of another copy returns the tick before setval
twice      portable HONEST MOVE=1 BUG=OPEN_ANY_MARK: another session has opened it, and a move back hides that
below      portable HONEST RESTORE BUG=HELD_UP: delayed between clock and lock, until a restore brings the mark
twice      portable HONEST RESTORE BUG=OLD_WAITS END=3: a restore brings back an old mark that two sessions saw
twice      portable HONEST RESTORE BUG=OLD_WITHOUT_LOCK END=3: two sessions wait, both open the next millisecond
future     portable HONEST NEXT_IDS BUG=WAIT_FOR_ANY END=3: the wait was for a time that another session has ended
twice      portable HONEST RAISE=1 BUG=RAISE_SETS: a nextval between the look and setval
twice      portable CRASH ONLY_UNIQUE BUG=NO_MESSAGE END=1 NUMBERS=6: the WAL that covers the id is another session's
below      portable CRASH RAISE=1 BUG=RAISE_NO_MESSAGE END=1 NUMBERS=6: another session's nextval came as far
twice      portable HONEST MOVE=1 MOVE_WITHIN: not promised, setval within the open millisecond
future     portable HONEST SESSIONS=3: not promised, as many sessions as the guard has numbers
below      portable SESSIONS=3 GUARD=4 NUMBERS=6 $moved_back: not promised, more than half the guard
END

wait
[[ -n ${is_any:-} ]] || { echo "no search has any of these words: $*" >&2; exit 1; }
[[ -n ${SHORTEST:-} || -z $(ls -A "$work") ]]
