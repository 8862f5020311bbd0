#!/usr/bin/env bash
# Has spin search every state of the models: with all rules they must hold, without a rule they must break
# as expected. Prints a line for each. Usage: proof/model/run.sh [WORD] runs only models with this word in
# their name; proof/model/run.sh --few. FULL=1 uses larger bounds.
set -uo pipefail
model=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${SANDBOX:-/tmp}/model.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

only=${1:-}
# For make test: one search that breaks for each model, and two that hold.
few=('without the redo pointer' 'without the wait on fresh storage' 'late answer stored' 'registry with a standby'
    'settled, notes before the position' 'portable, honest clock' 'portable, opened without the lock')
at_once=2

# The effects of a broken rule, as pan prints the assertion.
declare -A sign=(
    [twice]='&(1<<tick'
    [order]='>>tick'
    [uncovered]='(covered>='
    [stuck]='page.last=='
    [ahead]='<=lead'
    [pace]='(passed>='
    [waits]='looks[me]<='
    [layouts]='(told_layout=='
    [raised]='>raised)'
    [queue]='!=up_to[me]'
    [overlap]='used['
    [taken]='.holder==1)==('
    [undone]='.released'
    [renewed]='.branch!='
    [displaced]='.displaces)'
    [turns]='(turns<2)'
    [alone]='runs[(2-'
    [bound]='.not_before<=highest)'
    [stopped]='(is_lost||'
    [below]='(tick>before)'
    [future]='<=clock)'
    [unread]='~(delivered))==0)'
    [unlogged]='&((1<<(stored*'
    [decreases]='(settled>=bound)'
)

report() {
    printf '%-8s%-58s%12s states %4d s\n' "$1" "$2" "$3" "$SECONDS"
}

show() {
    tail -n 40 search.log
    [[ ! -f $1.trail ]] || spin "${@:2}" -t -p "$1" | grep -v 'goto' | tail -n 200
    return 1
}

# Depth-first search of all states: no reduction, no hashing of states to bits.
search() {
    local file=$1
    shift
    spin "$@" -a "$file" >search.log 2>&1 &&
        gcc "$optimize" -w -DSAFETY -DNOREDUCE -DMEMLIM=6000 -o pan pan.c >>search.log 2>&1 &&
        ./pan -m200000 -n >>search.log 2>&1
}

states() {
    sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' search.log
}

is_complete() {
    grep -q 'errors: 0$' search.log &&
        ! grep -qE 'not completed|too small|out of memory|reached -DMEMLIM|hit the' search.log
}

is_wanted() {
    local one
    [[ $only == --few ]] || { [[ $1 == *"$only"* ]]; return; }
    for one in "${few[@]}"; do
        [[ $1 != "$one" ]] || return 0
    done
    return 1
}

# If the name is wanted, runs the rest of the line in parallel with others, in a directory of its own, which
# stays if it fails.
begin() {
    local name=$1 folder
    shift
    is_wanted "$name" || return 0
    while (($(jobs -rp | wc -l) >= at_once)); do
        wait -n
    done
    folder=$(mktemp -d -p "$work") || exit 1
    (
        cp "$model"/*.pml "$model"/../../contrib/*/model/*.pml "$folder" && cd "$folder" || exit
        SECONDS=0
        "$@" >report.log 2>&1
        status=$?
        cat report.log
        ((status != 0)) || rm -rf "$folder"
    ) &
}

holds() {
    begin "$1" expect_to_hold "$@"
}

breaks() {
    begin "$1" expect_to_break "$@"
}

expect_to_hold() {
    local name=$1
    shift
    if search "$@" && is_complete; then
        report ok "$name" "$(states)"
    else
        report FAILED "$name" "$(states)"
        show "$@"
    fi
}

expect_to_break() {
    local name=$1 how=$2
    shift 2
    optimize=-O0 search "$@" # most searches take less time than their compilation
    if grep -F 'assertion violated' search.log | grep -qF -- "${sign[$how]}"; then
        report ok "$name: $how" "$(states)"
    else
        report FAILED "$name: not $how" "$(states)"
        show "$@"
    fi
}

smallest=(-DTICKS=2 -DCRASHES=1)
raises=(-DRAISE -DNEXTVAL "${smallest[@]}")
small=(-DTICKS=3 -DCRASHES=1)
middle=(-DTICKS=4 -DCRASHES=1)
large=("${middle[@]}")
exact=()
sooner=(-DEND=2)
moved=(-DMOVE -DMICROS=1 -DEND=2)
leases=(-DEND=1)
registry=(-DEND=1 -DSERIALS=3 -DLEASES=2)
restores=(-DEND=1 -DSERIALS=2 -DLEASES=2 -DRESTORE)
standby=(-DEND=1 -DSERIALS=2 -DLEASES=2 -DSTANDBY -DCHANGES=1)
again=(-DEND=1 -DSERIALS=1 -DLEASES=2 -DAGAIN -DCHANGES=1 -DSTRANGERS)
twins=(-DEND=1 -DSERIALS=3 -DLEASES=1 -DTWINS -DSTRANGERS)
moved_wrongly=(-DEND=1 -DSERIALS=2 -DLEASES=2 -DRESTORE -DCHANGES=1 -DBUG=LIAR)
two=(-DTWO_REGISTRIES -DEND=1 -DSERIALS=3)
portable=(-DEND=3)
moved_back=(-DHONEST -DEND=1 -DMOVE=1 -DMOVE_BACK)
settled=(-DTIMES=2)
settled_again=(-DMOVES=1 -DNUMBERS=1 -DTIMES=4)
optimize=-O1
if [[ -n ${FULL:-} ]]; then
    raises+=(-DRAISE_AGAIN)
    middle=(-DTICKS=4 -DCRASHES=2)
    large=(-DTICKS=5 -DCRASHES=2)
    exact=(-DMICROS=3 -DEND=2)
    sooner=("${exact[@]}")
    moved=(-DMOVE -DEND=2)
    leases=()
    registry=(-DSERIALS=3)
    moved_wrongly=(-DEND=1 -DSERIALS=3 -DLEASES=2 -DRESTORE -DCHANGES=1 -DBUG=LIAR)
    again=(-DEND=1 -DSERIALS=2 -DLEASES=2 -DAGAIN -DCHANGES=1)
    settled_again=(-DMOVES=1 -DTIMES=3)
    optimize=-O2
    at_once=1
fi

holds 'crashes and checkpoints' wal.pml "${large[@]}"
holds 'three sessions' wal.pml -DSESSIONS=3 "${small[@]}"
holds 'WAL two ticks ahead' wal.pml -DAHEAD=2 "${middle[@]}"
holds 'nextval in between' wal.pml -DNEXTVAL "${small[@]}"
holds 'copied database' wal.pml -DCOPY "${middle[@]}"
holds 'synchronous standby' wal.pml -DPROMOTE -DSYNC "${small[@]}"
holds 'synchronous standby, copied database' wal.pml -DPROMOTE -DSYNC -DCOPY "${middle[@]}"
holds 'synchronous standby, set up meanwhile' wal.pml -DPROMOTE -DSYNC -DSWITCH "${small[@]}"
holds 'asynchronous standby, but for what it did not get' wal.pml -DPROMOTE -DLOSSY "${small[@]}"
holds 'one layout' wal.pml -DLAYOUTS "${small[@]}"
holds 'one layout, copied database' wal.pml -DLAYOUTS -DCOPY "${small[@]}"
holds 'one layout, synchronous standby' wal.pml -DLAYOUTS -DPROMOTE -DSYNC "${smallest[@]}"
holds 'raise_generator' wal.pml "${raises[@]}"
holds 'any clock' clock.pml "${exact[@]}"
holds 'any clock, fresh storage' clock.pml -DFRESH -DONLY_P1 "${exact[@]}"
holds 'honest clock' clock.pml -DHONEST "${exact[@]}"
holds 'honest clock, generator ahead' clock.pml -DHONEST -DAHEAD_AT_START=1 "${exact[@]}"
holds 'honest clock, RESTART' clock.pml -DHONEST -DRESTART "${exact[@]}"
holds 'any clock, moved: nobody waits for ever' clock.pml -DONLY_WAITS -DMOVE -DEND=1
holds 'honest clock, moved' clock.pml -DHONEST "${moved[@]}"
holds 'honest clock, moved, three callers' clock.pml -DHONEST -DMOVE -DSESSIONS=3 -DMICROS=1 -DEND=1
holds 'honest clock, moved, RESTART' clock.pml -DHONEST -DRESTART -DMOVE -DEND=1
holds 'honest clock, moved, raise_generator' clock.pml -DHONEST -DRAISE -DMOVE -DEND=1
holds 'any clock, raise_generator' clock.pml -DRAISE "${sooner[@]}"
holds 'honest clocks, raise_generator on another server' clock.pml -DHONEST -DELSEWHERE "${sooner[@]}"
holds 'any clock, borrowed time' clock.pml -DBORROW=2 "${sooner[@]}"
holds 'honest clock, borrowed time' clock.pml -DHONEST -DBORROW=2 "${exact[@]}"
holds 'honest clock, borrowed time, RESTART' clock.pml -DHONEST -DBORROW=1 -DRESTART "${sooner[@]}"
holds 'honest clock, borrowed time, moved' clock.pml -DHONEST -DBORROW=1 "${moved[@]}"
holds 'leased shard' lease.pml -DPAGES "${leases[@]}"
holds 'leased shard, two sessions of one server' lease.pml -DPAGES -DONE_SERVER "${leases[@]}"

holds 'answers that come late, or from another registry' lease.pml "${two[@]}"
holds 'registry, and its member restarts' lease.pml -DRESTART "${registry[@]}"
holds 'registry, and a takeover that comes late' lease.pml -DLATE_TAKEOVER "${registry[@]}"
holds 'registry, and two servers in one place' lease.pml "${twins[@]}"
holds 'registry with a standby' lease.pml "${standby[@]}"
holds 'registry, restored once and called restored twice' lease.pml "${again[@]}"
holds 'registry, and a clone of it' lease.pml -DCLONE "${registry[@]}"
holds 'registry that evicts' lease.pml -DEVICT "${registry[@]}"
holds 'registry, restored, with answers that come late' lease.pml -DHEARD -DCHANGES=1 "${restores[@]}"
if [[ -n ${FULL:-} ]]; then
    holds 'registry, restored or moved twice' lease.pml -DCHANGES=2 "${restores[@]}"
    holds 'registry, restored, three grants' lease.pml -DRESTORE -DCHANGES=1 -DEND=1 -DSERIALS=3
fi

holds 'settled, prepared, CACHE altered, crash' settled.pml -DPREPARE -DALTER -DCRASHES=1 "${settled[@]}"
holds 'settled, three times' settled.pml -DTIMES=3
holds 'settled, moved back' settled.pml "${settled_again[@]}"

holds 'portable, honest clock' portable.pml -DHONEST
holds 'portable, honest clock, next_ids and raise_generator' portable.pml -DHONEST -DNEXT_IDS -DRAISE=1 "${portable[@]}"
holds 'portable, any clock, next_ids and raise_generator' portable.pml -DNEXT_IDS -DRAISE=1
holds 'portable, two copies of the file' portable.pml -DHONEST -DNEXT_IDS -DCOPIES=2 "${portable[@]}"
holds 'portable, setval by others' portable.pml -DHONEST -DMOVE=1
holds 'portable, setval back by others, three sessions' portable.pml -DSESSIONS=3 -DGUARD=6 -DNUMBERS=8 "${moved_back[@]}"
holds 'portable, restored by a dump' portable.pml -DHONEST -DRESTORE "${portable[@]}"
holds 'portable, crash' portable.pml -DCRASH -DEND=1 -DNUMBERS=6
holds 'portable, crash and raise_generator' portable.pml -DCRASH -DRAISE=1 -DEND=1
if [[ -n ${FULL:-} ]]; then
    holds 'portable, three sessions' portable.pml -DHONEST -DSESSIONS=3 -DGUARD=4 -DNUMBERS=6
    holds 'portable, setval back by others, twice' portable.pml -DHONEST -DMOVE=2 -DMOVE_BACK
    holds 'portable, crash, honest clock' portable.pml -DCRASH -DHONEST -DHONEST_AFTER
fi

breaks 'without the flush' uncovered wal.pml -DNO_FLUSH "${small[@]}"
breaks 'flush by who logged only' twice wal.pml -DONLY_UNIQUE -DFLUSH_OWN_ONLY "${small[@]}"
breaks 'without the redo pointer' twice wal.pml -DONLY_UNIQUE -DNO_REDO_RULE "${small[@]}"
breaks 'dirty after the redo pointer is read' twice wal.pml -DONLY_UNIQUE -DDIRTY_AFTER_REDO_READ "${small[@]}"
breaks 'without the stamp' twice wal.pml -DONLY_UNIQUE -DNO_STAMP_RULE -DCOPY "${small[@]}"
breaks 'without the lock' twice wal.pml -DONLY_UNIQUE -DNO_LOCK "${small[@]}"
breaks 'synchronous standby, who draws without WAL does not wait' twice \
    wal.pml -DONLY_UNIQUE -DPROMOTE -DSYNC_OF_LOGGERS "${small[@]}"
breaks 'synchronous standby, setting as the session knows it' twice \
    wal.pml -DONLY_UNIQUE -DPROMOTE -DSYNC -DSWITCH -DSYNC_BY_SESSION "${small[@]}"
breaks 'synchronous standby, waits without an LSN of their own' queue \
    wal.pml -DPROMOTE -DSYNC -DQUEUE_BY_PAGE_LSN "${smallest[@]}"
breaks 'lock kept' stuck wal.pml -DKEEP_LOCK "${small[@]}"
breaks 'layout not in WAL' layouts wal.pml -DLAYOUTS -DBIND_WITHOUT_LOG "${small[@]}"
breaks 'nothing to raise and only a flush' raised wal.pml -DRAISE_FLUSH_ONLY "${raises[@]}"
breaks 'step earned by another wait' pace clock.pml -DKEEP_EARNED
breaks 'step past a running clock' ahead clock.pml -DHONEST -DOVERTAKE
breaks 'wait for a clock that stands still' waits clock.pml -DNO_STILL_RULE
breaks 'wait for a clock set back to come again' waits clock.pml -DNO_START_RESET
breaks 'without the wait on fresh storage' twice clock.pml -DONLY_UNIQUE -DHONEST -DRESTART -DNO_FRESH_WAIT
breaks 'without a memory in replaced storage' twice clock.pml -DONLY_UNIQUE -DHONEST -DRESTART -DNO_REMEMBER
breaks 'moved again, not noticed' twice clock.pml -DONLY_UNIQUE -DHONEST -DMOVE -DNO_COUNT_RULE
breaks 'setval, nextval, and taken for ours' twice \
    clock.pml -DONLY_UNIQUE -DHONEST -DMOVE -DMOVED_BY_LOG_CNT_ZERO
breaks 'moved page ours once raised' twice \
    clock.pml -DONLY_UNIQUE -DHONEST -DMOVE -DRAISE -DRAISE_MAKES_OURS
breaks 'raise_generator lowers' twice clock.pml -DONLY_UNIQUE -DHONEST -DRAISE -DRAISE_MAY_LOWER
breaks 'raised to the highest id itself' twice \
    clock.pml -DONLY_UNIQUE -DHONEST -DELSEWHERE -DRAISE_TO_OWN_TICK
breaks 'borrowed without a limit' ahead clock.pml -DHONEST -DBORROW=1 -DBORROW_WITHOUT_LIMIT
breaks 'borrowed before the time is used up' ahead clock.pml -DHONEST -DBORROW=2 -DBORROW_EARLY
breaks 'borrowed on fresh storage' ahead clock.pml -DHONEST -DBORROW=1 -DRESTART -DBORROW_WHEN_MOVED
breaks 'moved back when the clock has caught up' twice \
    clock.pml -DONLY_UNIQUE -DHONEST -DBORROW=1 -DMOVE -DMICROS=1 -DEND=2 -DNO_AHEAD_RULE
breaks 'window not looked at again at its end' overlap lease.pml -DPAGES -DBUG=NO_UNTIL
breaks 'window kept for a moved page' overlap lease.pml -DPAGES -DBUG=MOVED_KEEPS_WINDOW
breaks 'window as the row says, in a copy too' overlap lease.pml -DPAGES -DBUG=TRUST_ROW
breaks 'released, and its window shortened' overlap lease.pml -DPAGES -DBUG=RELEASE_SHORTENS -DEND=1
breaks 'drawn at once before the window was entered' overlap lease.pml -DPAGES -DBUG=AT_ONCE_UNENTERED

breaks 'clone of the registry grants' overlap lease.pml -DCLONE -DBUG=NO_PLACE "${registry[@]}"
breaks 'registry grants on another timeline' overlap lease.pml -DBUG=NO_TIMELINE -DCHANGES=1 "${restores[@]}"
breaks 'two changes of timeline taken for one' overlap lease.pml -DBUG=NO_SUCCESSOR -DCHANGES=2 "${restores[@]}"
breaks 'recovery with a target taken for a failover' overlap lease.pml -DBUG=NO_TARGET -DCHANGES=1 "${restores[@]}"
breaks 'registry set back and not stopped' overlap lease.pml -DBUG=NO_SERIAL -DCHANGES=1 "${restores[@]}"
breaks 'receipts of another branch believed' overlap lease.pml -DBUG=NO_OTHER_BRANCH -DCHANGES=2 "${restores[@]}"
breaks 'registry restored, and no new branch' stopped lease.pml -DBUG=NO_BRANCH -DCHANGES=1 "${restores[@]}"
breaks 'registry restored by its clock' overlap lease.pml -DBUG=BELIEVES_CLOCK -DCHANGES=1 "${restores[@]}"
breaks 'registry grants by an old snapshot' overlap lease.pml -DBUG=NO_COMMITTED -DHEARD -DCHANGES=1 "${restores[@]}"
breaks 'window from before the restore kept' overlap \
    lease.pml -DBUG=NO_OLD_WINDOW -DRESTORE -DCHANGES=1 "${registry[@]}"
breaks 'window from when it is wanted' overlap lease.pml -DBUG=NO_FROM "${registry[@]}"
breaks 'window extended for another incarnation' taken lease.pml -DBUG=NO_INCARNATION -DRESTART "${registry[@]}"
breaks 'copy takes what is held' taken lease.pml -DBUG=NO_HOLDER "${registry[@]}"
breaks 'late takeover displaces whom it did not name' displaced \
    lease.pml -DLATE_TAKEOVER -DBUG=ANY_SERIAL "${registry[@]}"
breaks 'copy takes what is idle' taken lease.pml -DBUG=INHERITS "${registry[@]}"
breaks 'copy returns what is held' taken lease.pml -DBUG=NO_PLACE_OF_RETURN "${registry[@]}"
breaks 'late request undoes a release' undone lease.pml -DBUG=NO_LATE "${registry[@]}"
breaks 'ids between a release and the next lease' overlap lease.pml -DBUG=RELEASED_DRAWS "${registry[@]}"
breaks 'renewal takes what was evicted' renewed lease.pml -DBUG=NO_RENEWAL -DEVICT -DEND=1 -DSERIALS=5 -DLEASES=1
breaks 'grant counts without a receipt' overlap lease.pml -DBUG=CANCELLED_COUNTS "${standby[@]}"
breaks 'two servers in one place take turns' turns lease.pml -DBUG=NO_STARTS "${twins[@]}"
breaks 'each registry_was_restored() pushes on' bound lease.pml -DBUG=EACH_TIME "${again[@]}"
breaks 'called restored twice, and a snapshot in between' overlap lease.pml -DBUG=AGAIN_AFTER_RESTART "${again[@]}"
breaks 'late answer stored' overlap lease.pml "${two[@]}" -DBUG=LATE_ANSWER_STORED
breaks 'late answer of another registry stored' overlap lease.pml "${two[@]}" -DBUG=ANY_REGISTRY
breaks 'one connection for two registries' overlap lease.pml "${two[@]}" -DBUG=CONNECTION_KEPT
breaks 'shard of one lease in the window of another' overlap lease.pml "${two[@]}" -DBUG=ANY_LEASE

breaks 'settled, notes before the position' decreases settled.pml -DNOTES_FIRST -DTIMES=2
breaks 'settled, noted after the page is unlocked' decreases settled.pml -DNOTE_AFTER_PAGE -DTIMES=2
breaks 'settled, prepared transactions not looked at' unlogged settled.pml -DPREPARE -DPREPARED_IGNORED -DTIMES=2
breaks 'settled, own transaction not looked at' unlogged settled.pml -DOWN_IGNORED -DTIMES=2
breaks 'settled, in the statement that reads the rows' unread settled.pml -DONE_STATEMENT -DTIMES=2
breaks 'settled, position not durable' unlogged settled.pml -DPOSITION_LOST -DCRASHES=1 -DTIMES=2
breaks 'settled, moved back and no other note' unlogged settled.pml -DONE_NOTE "${settled_again[@]}"
breaks 'settled, note of the subtransaction' unlogged settled.pml -DNOTE_OF_SUBTRANSACTION -DTIMES=2
breaks 'settled, locks released before the commit' unread settled.pml -DLOCKS_RELEASED_FIRST -DTIMES=2
breaks 'settled, CACHE altered at once' unread settled.pml -DALTER -DALTER_AT_ONCE -DTIMES=2
breaks 'settled, own change of CACHE and no note' unlogged settled.pml -DALTER -DOWN_CHANGE_UNNOTED -DTIMES=2
breaks 'settled, read without the lock' unlogged settled.pml -DALTER -DREADER_UNLOCKED -DTIMES=2

breaks 'portable, opened without the lock' twice portable.pml -DHONEST -DNO_LOCK
breaks 'portable, mark set before the generator' twice portable.pml -DHONEST -DMARK_FIRST
breaks 'portable, mark read after nextval' twice portable.pml -DHONEST -DMOVE=1 -DMARK_AFTER
breaks 'portable, no clock after nextval' twice portable.pml -DHONEST -DMOVE=1 -DNO_CLOCK_AFTER
breaks 'portable, without the guard' below portable.pml -DHONEST -DMOVE=1 -DNO_GUARD
breaks 'portable, guard of the generator not looked at' twice portable.pml -DHONEST -DMOVE=1 -DANY_NUMBER
breaks 'portable, no wait after a move' twice portable.pml -DHONEST -DMOVE=1 -DMOVED_AT_ONCE
breaks 'portable, opened over another copy' twice portable.pml -DHONEST -DCOPIES=2 -DSET_BELOW
breaks 'portable, opened within an open millisecond' twice portable.pml -DHONEST -DCOPIES=2 -DBELOW_TICK
breaks 'portable, opened after another' twice portable.pml -DHONEST -DMOVE=1 -DOPEN_ANY_MARK
breaks 'portable, held up before the lock' below portable.pml -DHONEST -DRESTORE -DHELD_UP
breaks 'portable, old mark trusted after a wait' twice portable.pml -DHONEST -DRESTORE -DOLD_WAITS -DEND=3
breaks 'portable, old mark waited for without the lock' twice \
    portable.pml -DHONEST -DRESTORE -DOLD_WITHOUT_LOCK -DEND=3
breaks 'portable, wait for what others have ended' future portable.pml -DHONEST -DNEXT_IDS -DWAIT_FOR_ANY -DEND=3
breaks 'portable, set where nothing is to be raised' twice portable.pml -DHONEST -DRAISE=1 -DRAISE_SETS
breaks 'portable, commit without the message' twice portable.pml -DCRASH -DONLY_UNIQUE -DNO_MESSAGE -DEND=1 -DNUMBERS=6
breaks 'portable, nothing to raise and no message' below portable.pml -DCRASH -DRAISE=1 -DRAISE_NO_MESSAGE -DEND=1 -DNUMBERS=6

# What is not promised: the models show that, too.
breaks 'limit, portable, setval within the open millisecond' twice portable.pml -DHONEST -DMOVE=1 -DMOVE_WITHIN
breaks 'limit, portable, as many sessions as the guard has numbers' future portable.pml -DHONEST -DSESSIONS=3
breaks 'limit, portable, setval back, more sessions than half the guard' below \
    portable.pml -DSESSIONS=3 -DGUARD=4 -DNUMBERS=6 "${moved_back[@]}"
breaks 'limit, called moved, and a holder is back' overlap lease.pml "${moved_wrongly[@]}"
breaks 'limit, late request of an older lease' undone lease.pml -DBUG=OLDER -DSTRANGERS -DEND=1 -DSERIALS=5
breaks 'limit, late request of a start in between' alone lease.pml -DBUG=ALONE -DRESTART "${registry[@]}"
breaks 'limit, asynchronous standby' twice wal.pml -DONLY_UNIQUE -DPROMOTE "${small[@]}"
breaks 'limit, RESTART when ahead of the clock' twice \
    clock.pml -DONLY_UNIQUE -DHONEST -DRESTART -DAHEAD_AT_START=1 -DMOVE_AHEAD
breaks 'limit, clock set back after RESTART' twice clock.pml -DONLY_UNIQUE -DRESTART
breaks 'limit, setval when ahead of the clock' twice \
    clock.pml -DONLY_UNIQUE -DHONEST -DMOVE -DMOVE_AHEAD
breaks 'limit, clock set back after setval' twice clock.pml -DONLY_UNIQUE -DMOVE
breaks 'limit, clock set back over a fresh page' pace clock.pml -DFRESH

wait
[[ -z $(ls -A "$work") ]]
