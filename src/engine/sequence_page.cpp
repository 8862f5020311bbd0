#include "engine/sequence_page.h"

namespace shardid {

namespace {

// Enough for one transaction's tables.
constexpr int max_kept_pins = 8;

// The pins that are kept, and the transaction that keeps them. An abort releases them by the
// resource owner; what is left here is then an older transaction's, and counts as none.
PagePin *kept[max_kept_pins];
int kept_count = 0;
LocalTransactionId all_kept_in = InvalidLocalTransactionId;

// The last transaction that began to commit. No pin is kept in it any more.
LocalTransactionId committing = InvalidLocalTransactionId;

// A session's share of the buffer pool, as bufmgr.c's MaxProportionalPins. In a small pool it is 0:
// many sessions would else leave no buffer to read other pages into.
int most_kept_pins() {
    return Min(max_kept_pins, NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS));
}

void release(PagePin &pin) {
    Assert(is_kept(pin));
    for_transaction([&] { ReleaseBuffer(pin.buffer); });
    pin.kept_in = InvalidLocalTransactionId;
}

// A pin that is still there when the transaction's resources are released counts as a leak.
void release_all_before_commit(XactEvent event, void * /*argument*/) {
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
        return;
    committing = current_lxid();
    if (all_kept_in != committing)
        return;
    while (kept_count > 0)
        release(*kept[--kept_count]);
}

int pins_kept_here() {
    return all_kept_in == current_lxid() ? kept_count : 0;
}

// Rolling back a subtransaction drops a relfilenode that was made in it, which must then not be
// pinned.
bool may_keep_pin(const Sequence &sequence) {
    return !sequence.has_own_storage && committing != current_lxid() &&
           pins_kept_here() < most_kept_pins();
}

// The page is read under the current resource owner, so that a read that fails is cleaned up with
// the subtransaction in which it failed.
void keep_pin(PagePin &pin) {
    Assert(pins_kept_here() < max_kept_pins);
    for_transaction([&] { IncrBufferRefCount(pin.buffer); });
    ReleaseBuffer(pin.buffer);
    pin.kept_in = current_lxid();
    kept_count = pins_kept_here();
    all_kept_in = pin.kept_in;
    kept[kept_count++] = &pin;
}

// How far beyond last_value WAL has been written. nextval's log_cnt counts its values, each an
// INCREMENT from the next.
uint64 ticks_logged_ahead(const OpenPage &page, int64 increment) {
    if (has_our_remainder(page))
        return has_noted_record(page) ? logged_on(page).last.up_to - last_tick_of(page) : 0;
    int64 remainder;
    if (__builtin_mul_overflow(page.data->log_cnt, increment, &remainder))
        return 0;
    return remainder < 0 || page.data->last_value < 0 ? 0 : static_cast<uint64>(remainder);
}

void bind(const OpenPage &page, uint64 binding) {
    Assert(binding != unbound && TransactionIdIsNormal(static_cast<TransactionId>(binding >> 32)));
    Assert(binding_of(page) == unbound || binding_of(page) == binding);
    HeapTupleHeaderSetXmin(page.tuple, static_cast<TransactionId>(binding >> 32));
    BlockIdSet(&page.tuple->t_ctid.ip_blkid, static_cast<BlockNumber>(binding));
}

void set_notes(const OpenPage &page, PageNotes notes) {
    ItemPointerSetOffsetNumber(&page.tuple->t_ctid, offset_of(notes));
}

// Before a draw makes the page ours. From the count of these, a session that waits for the end of a
// millisecond sees that another session has drawn meanwhile, even if the page was moved again
// since.
void note_start(const OpenPage &page, uint32 stamp) {
    if (!is_ours(page, stamp))
        set_notes(page, with_start(notes_of(page)));
}

// Logs the page with the values that it has now. REQUIRED: in a critical section, buffer dirty.
void log_page(const OpenPage &page, const RelFileLocator &locator, uint32 stamp) {
    Assert(CritSectionCount > 0 && is_first_page_of(page.buffer, locator));
    HeapTupleHeaderSetCmin(page.tuple, stamp);

    xl_seq_rec record{locator};
    XLogBeginInsert();
    XLogRegisterBuffer(0, page.buffer, REGBUF_WILL_INIT);
    XLogRegisterData(reinterpret_cast<char *>(&record), sizeof(record));
    XLogRegisterData(reinterpret_cast<char *>(page.tuple),
                     ItemIdGetLength(PageGetItemId(page.page, FirstOffsetNumber)));
    const XLogRecPtr end = XLogInsert(RM_SEQ_ID, XLOG_SEQ_LOG);
    PageSetLSN(page.page, end);
}

// The last record, if it is a draw's in this storage, so that a record after it replaces no other.
Logged last_logged(const OpenPage &page, uint32 stamp) {
    if (has_stamp(page, stamp) && has_our_remainder(page) && has_noted_record(page))
        return logged_on(page).last;
    return {};
}

// Logs the page as it will be when every tick up to `log_to` is drawn, as nextval_internal does
// with its 32 values. As there, an xid is taken before the critical section, so that the commit
// waits for synchronous standbys; but not if the tick is covered already.
void log_ticks(const OpenPage &page, const RelFileLocator &locator, uint64 tick, uint64 log_to,
               uint64 binding) {
    Assert(tick >= last_tick_of(page) && tick <= log_to);
    const uint32 stamp = stamp_of(locator);
    const Logged before = last_logged(page, stamp);
    if (tick > before.up_to || before.lsn <= GetRedoRecPtr())
        GetTopTransactionId();
    START_CRIT_SECTION();
    note_start(page, stamp);
    bind(page, binding);
    set_state(page, log_to, 0);
    log_page(page, locator, stamp);
    logged_on(page) = {{PageGetLSN(page.page), log_to}, before};
    // Half: the next record is written, and flushed, before this one is used up.
    set_state(page, tick, (log_to - tick) / 2);
    END_CRIT_SECTION();
}

void record_without_wal(const OpenPage &page, uint32 stamp, uint64 tick, uint64 binding) {
    Assert(tick >= last_tick_of(page));
    note_start(page, stamp);
    bind(page, binding);
    set_state(page, tick, 0);
    HeapTupleHeaderSetCmin(page.tuple, stamp_without_wal(stamp));
}

}  // namespace

void start_unpinning_at_commit() {
    RegisterXactCallback(release_all_before_commit, nullptr);
}

Buffer pin_page(PagePin &pin, const Sequence &sequence) {
    Assert(!is_kept(pin));
    // The relation is opened only if the page has left the buffer in which it was last seen.
    // (Before 15.2 ReadRecentBuffer is wrong for temporary relations.)
    if (sequence.is_temporary || !BufferIsValid(pin.buffer) ||
        !ReadRecentBuffer(sequence.locator, MAIN_FORKNUM, 0, pin.buffer)) {
        Relation relation = relation_open(sequence.relid, NoLock);
        pin.buffer = ReadBuffer(relation, 0);
        relation_close(relation, NoLock);
    }
    if (pin.last_used_in == current_lxid() && may_keep_pin(sequence))
        keep_pin(pin);
    pin.last_used_in = current_lxid();
    return pin.buffer;
}

void drop_kept_pin(PagePin &pin) {
    if (!is_kept(pin))
        return;
    release(pin);
    for (int i = 0; i < kept_count; ++i)
        if (kept[i] == &pin)
            kept[i] = kept[--kept_count];
}

uint32 stamp_of(const RelFileLocator &locator) {
    // An odd factor is a bijection of uint32, so neither part hides a difference in the other.
    constexpr uint32 odd_factor = 0x9E3779B1;
    const uint32 stamp = locator.dbOid * odd_factor ^ locator.relNumber;
    return stamp == FirstCommandId ? odd_factor : stamp;
}

// A draw holds the page for some tens of nanoseconds, but a session that queues for its lock sleeps
// until it is woken and scheduled, and so does every session behind it. So it looks again for some
// two microseconds before it queues; by a clock, as a delay takes 140 cycles here and none there.
void lock_taken_page(Buffer buffer) {
    constexpr int64 looks_us = 2;
    constexpr int delays_a_look = 8;
    const instr_time start = this_moment();
    do {
        for (int delay = 0; delay < delays_a_look; ++delay)
            SPIN_DELAY();
        if (ConditionalLockBuffer(buffer))
            return;
    } while (us_since(start) < looks_us);
    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
}

void refuse_magic(uint32 magic) {
    ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                    errmsg("bad magic number in sequence page: %08X", magic)));
}

OpenPage open_page(Relation relation) {
    Assert(CheckRelationLockedByMe(relation, RowExclusiveLock, true) &&
           !RELATION_IS_OTHER_TEMP(relation));
    return lock_page(ReadBuffer(relation, 0));
}

XLogRecPtr record_tick(const OpenPage &page, const Sequence &sequence, const LastDraw &last) {
    const XLogRecPtr logged = record_logged_tick(page, sequence, last.tick);
    return logged != InvalidXLogRecPtr ? logged : log_tick(page, sequence, last);
}

XLogRecPtr log_tick(const OpenPage &page, const Sequence &sequence, const LastDraw &last) {
    Assert(last.log_to <= static_cast<uint64>(sequence.max_value));
    if (!sequence.needs_wal) {
        record_without_wal(page, sequence.stamp, last.tick, last.binding);
        return InvalidXLogRecPtr;
    }
    log_ticks(page, sequence.locator, last.tick, last.log_to, last.binding);
    const XLogRecPtr up_to = covered_by(page, last.tick, GetRedoRecPtr());
    // Nobody waits for it yet: the WAL writer flushes it meanwhile.
    if (up_to < PageGetLSN(page.page))
        XLogSetAsyncXactLSN(PageGetLSN(page.page));
    return up_to;
}

XLogRecPtr record_raise(const OpenPage &page, const Sequence &sequence, uint64 binding,
                        uint64 tick) {
    Assert(tick <= static_cast<uint64>(sequence.max_value));
    const uint64 last = Max(last_tick_of(page), tick);
    const bool is_there = page.data->is_called && last_tick_of(page) == last;
    const bool ours = is_ours(page, sequence.stamp);
    const int64 log_cnt = ours ? log_cnt_of(0) : 0;
    // The WAL of the move that made the page not ours may not be replayed: so the page is logged
    // anew.
    if (is_there && ours)
        return sequence.needs_wal ? PageGetLSN(page.page) : InvalidXLogRecPtr;

    MarkBufferDirty(page.buffer);
    if (!sequence.needs_wal) {
        bind(page, binding);
        set_values(page, static_cast<int64>(last), log_cnt);
        HeapTupleHeaderSetCmin(page.tuple, stamp_without_wal(sequence.stamp));
        return InvalidXLogRecPtr;
    }
    GetTopTransactionId();
    START_CRIT_SECTION();
    bind(page, binding);
    set_values(page, static_cast<int64>(last), log_cnt);
    log_page(page, sequence.locator, sequence.stamp);
    END_CRIT_SECTION();
    return PageGetLSN(page.page);
}

bool note_mention(const OpenPage &page, TimestampTz clock) {
    Assert(has_our_remainder(page));
    const uint64 second = time_at(DT_NOBEGIN, clock, USECS_PER_SEC);
    PageNotes notes = notes_of(page);
    if (!is_mention_due(notes, second))
        return false;
    notes.mention = mention_at(second);
    set_notes(page, notes);
    return true;
}

XLogRecPtr record_move(const OpenPage &page, Relation relation, const Move &move) {
    Assert(move.steps >= 0 && move.logged_ahead >= 0);
    const RelFileLocator locator = relation->rd_locator;
    const uint32 stamp = stamp_of(locator);
    MarkBufferDirty(page.buffer);
    if (!RelationNeedsWAL(relation)) {
        set_values(page, move.to, 0);
        HeapTupleHeaderSetCmin(page.tuple, stamp_without_wal(stamp));
        return InvalidXLogRecPtr;
    }
    // As is_logged, for the values of a plain sequence. Since our record only nextval has counted.
    if (has_stamp(page, stamp) && move.steps <= page.data->log_cnt && has_noted_range(page) &&
        PageGetLSN(page.page) > GetRedoRecPtr())
        set_values(page, move.to, page.data->log_cnt - move.steps);
    else {
        GetTopTransactionId();
        START_CRIT_SECTION();
        set_values(page, move.logged_to, 0);
        log_page(page, locator, stamp);
        logged_on(page) = {{}, {PageGetLSN(page.page), 0}};
        set_values(page, move.to, move.logged_ahead);
        END_CRIT_SECTION();
    }
    return PageGetLSN(page.page);
}

// If the page is older than the redo pointer, nothing was logged since, and the last value on disk
// is the page's own.
Position read_position(Relation relation, int64 increment) {
    const OpenPage page = lock_page(ReadBuffer(relation, 0), BUFFER_LOCK_SHARE);
    const uint32 stamp = stamp_of(relation->rd_locator);
    const bool is_logged_ahead =
        has_stamp(page, stamp) && BufferGetLSNAtomic(page.buffer) > GetRedoRecPtr();
    const uint64 last = last_tick_of(page);
    const Position position = {last,
                               last + (is_logged_ahead ? ticks_logged_ahead(page, increment) : 0),
                               page.data->is_called, binding_of(page), is_ours(page, stamp)};
    UnlockReleaseBuffer(page.buffer);
    return position;
}

}  // namespace shardid
