#include "objectid.hpp"
#include "uuid_ticks.hpp"

#include "sequence_page.h"

#include "page_pin.h"

namespace shardid {

namespace {

// See sequence.c's read_seq_tuple.
pg_attribute_always_inline OpenPage lock_page(Buffer buffer,
                                              BufferLock mode = BUFFER_LOCK_EXCLUSIVE) {
    LockBuffer(buffer, mode);
    Page page = BufferGetPage(buffer);
    const uint32 magic = *reinterpret_cast<uint32 *>(PageGetSpecialPointer(page));
    if (unlikely(magic != sequence_page_magic))
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                        errmsg("bad magic number in sequence page: %08X", magic)));

    auto *tuple = reinterpret_cast<HeapTupleHeader>(
        PageGetItem(page, PageGetItemId(page, FirstOffsetNumber)));
    auto *data = reinterpret_cast<FormData_pg_sequence_data *>(reinterpret_cast<char *>(tuple) +
                                                               tuple->t_hoff);
    return {buffer, page, tuple, data};
}

// How far beyond last_value WAL has been written. log_cnt counts values of nextval, each one
// increment from the next.
uint64 logged_remainder(const OpenPage &page, int64 increment) {
    int64 remainder = page.data->log_cnt;
    if (unlikely(increment != 1) &&
        __builtin_mul_overflow(page.data->log_cnt, increment, &remainder))
        return 0;
    return remainder < 0 || page.data->last_value < 0 ? 0 : static_cast<uint64>(remainder);
}

int64 log_cnt_of(uint64 remainder, int64 increment) {
    const auto count = static_cast<int64>(remainder);
    return likely(increment == 1) ? count : count / increment;
}

// Whether WAL that will be replayed covers the tick.
//
// A page and its remainder of logged values can be copied into another file: CREATE DATABASE ...
// TEMPLATE does. The remainder was logged for the original only and must not be trusted in the
// copy. The stamp tells them apart. It stands in the tuple header's t_cid, which nothing reads in a
// frozen tuple, which travels in XLOG_SEQ_LOG, and which sequence.c sets to zero when it gives a
// sequence new storage (fill_seq_fork_with_data). A page changed without WAL has another one.
//
// The buffer is already dirty here, so that a checkpoint whose redo pointer we do not see yet is
// bound to write the page after we are done.
pg_attribute_always_inline bool is_logged(const OpenPage &page, const Generator &generator,
                                          uint64 tick) {
    return has_stamp(page, generator.stamp) &&
           tick - last_tick_of(page) <= logged_remainder(page, generator.increment) &&
           PageGetLSN(page.page) > GetRedoRecPtr();
}

void set_stamp(const OpenPage &page, uint32 stamp) {
    HeapTupleHeaderSetCmin(page.tuple, stamp);
}

void set_values(const OpenPage &page, int64 last_value, int64 log_cnt) {
    page.data->last_value = last_value;
    page.data->is_called = true;
    page.data->log_cnt = log_cnt;
}

void set_state(const OpenPage &page, uint64 last_tick, int64 log_cnt) {
    set_values(page, static_cast<int64>(last_tick), log_cnt);
}

// Logs the page as it will be when every value up to `logged_to` is drawn, as nextval_internal does
// with its 32 values. REQUIRED: in a critical section, buffer dirty.
void log_state(const OpenPage &page, const Locator &locator, uint32 stamp, int64 logged_to) {
    set_values(page, logged_to, 0);
    set_stamp(page, stamp);

    xl_seq_rec record = sequence_record(locator);
    XLogBeginInsert();
    XLogRegisterBuffer(0, page.buffer, REGBUF_WILL_INIT);
    XLogRegisterData(reinterpret_cast<char *>(&record), sizeof(record));
    XLogRegisterData(reinterpret_cast<char *>(page.tuple),
                     ItemIdGetLength(PageGetItemId(page.page, FirstOffsetNumber)));
    const XLogRecPtr end = XLogInsert(RM_SEQ_ID, XLOG_SEQ_LOG);
    PageSetLSN(page.page, end);
}

// The xid makes the commit wait for synchronous standbys; it is taken before the critical section,
// as nextval_internal does.
template <typename L>
pg_noinline void record_and_log(const OpenPage &page, const Generator &generator, L layout,
                                uint64 tick) {
    const uint64 log_to = logged_ahead_of(layout, tick);
    GetTopTransactionId();
    START_CRIT_SECTION();
    log_state(page, generator.locator, generator.stamp, static_cast<int64>(log_to));
    set_state(page, tick, log_cnt_of(log_to - tick, generator.increment));
    END_CRIT_SECTION();
}

Buffer pin_replaced(ReplacedStorage &storage) {
    if (!BufferIsValid(storage.recent_buffer) ||
        !ReadRecentBuffer(storage.locator, MAIN_FORKNUM, 0, storage.recent_buffer))
        storage.recent_buffer = ReadBufferWithoutRelcache(
            storage.locator, MAIN_FORKNUM, 0, RBM_NORMAL, nullptr, storage.is_permanent);
    return storage.recent_buffer;
}

// What WAL covers is kept in the session, not in log_cnt: that counts in the increments of a
// definition which may be another one than the rollback brings back.
void set_on(const OpenPage &page, ReplacedStorage &storage, uint64 tick, uint64 log_to) {
    MarkBufferDirty(page.buffer);
    if (!storage.needs_wal)
        set_stamp(page, stamp_without_wal(stamp_of(storage.locator)));
    else if (tick > storage.logged_to || PageGetLSN(page.page) <= GetRedoRecPtr()) {
        storage.logged_to = Min(log_to, storage.max_value);
        GetTopTransactionId();
        START_CRIT_SECTION();
        log_state(page, storage.locator, stamp_of(storage.locator),
                  static_cast<int64>(storage.logged_to));
        set_state(page, tick, 0);
        END_CRIT_SECTION();
        return;
    }
    set_state(page, tick, 0);
}

// Another mark than next_id's: a page that has it knows nothing of ids that were drawn a moment
// ago.
uint32 range_stamp_of(uint32 stamp) {
    constexpr int bit = 31;
    return other_stamp(stamp, bit);
}

// Ids that next_id drew from this storage stay known to it.
uint32 stamp_after_move(const OpenPage &page, uint32 stamp) {
    return was_drawn_from(page, stamp) ? stamp : range_stamp_of(stamp);
}

// As is_logged, for values of any sequence.
bool is_move_logged(const OpenPage &page, uint32 stamp, int64 steps) {
    return has_stamp(page, stamp) && steps <= page.data->log_cnt &&
           PageGetLSN(page.page) > GetRedoRecPtr();
}

}  // namespace

OpenPage open_page(Generator &generator) {
    return lock_page(pin_page(generator));
}

void close_page(const Generator &generator, const OpenPage &page) {
    if (likely(is_pin_kept(generator)))
        LockBuffer(page.buffer, BUFFER_LOCK_UNLOCK);
    else
        UnlockReleaseBuffer(page.buffer);
}

OpenPage open_page(Relation relation) {
    return lock_page(ReadBuffer(relation, 0));
}

void close_page(const OpenPage &page) {
    UnlockReleaseBuffer(page.buffer);
}

template <typename L>
XLogRecPtr record_tick(const OpenPage &page, const Generator &generator, L layout, uint64 tick) {
    MarkBufferDirty(page.buffer);

    if (unlikely(!generator.needs_wal)) {
        set_state(page, tick, 0);
        set_stamp(page, stamp_without_wal(generator.stamp));
        return InvalidXLogRecPtr;
    }
    if (likely(is_logged(page, generator, tick))) {
        const uint64 left =
            logged_remainder(page, generator.increment) - (tick - last_tick_of(page));
        set_state(page, tick, log_cnt_of(left, generator.increment));
    } else
        record_and_log(page, generator, layout, tick);
    return PageGetLSN(page.page);
}

template XLogRecPtr record_tick(const OpenPage &, const Generator &, Layout, uint64);
template XLogRecPtr record_tick(const OpenPage &, const Generator &, UuidTicks, uint64);
template XLogRecPtr record_tick(const OpenPage &, const Generator &, ObjectIdTicks, uint64);

XLogRecPtr remember_tick(ReplacedStorage &storage, uint64 tick, uint64 log_to) {
    const OpenPage page = lock_page(pin_replaced(storage));
    if (!page.data->is_called || last_tick_of(page) < tick)
        set_on(page, storage, tick, log_to);
    const XLogRecPtr covered_by = storage.needs_wal ? PageGetLSN(page.page) : InvalidXLogRecPtr;
    UnlockReleaseBuffer(page.buffer);
    return covered_by;
}

XLogRecPtr record_move(const OpenPage &page, Relation relation, const Move &move) {
    const Locator locator = locator_of(relation);
    const uint32 stamp = stamp_after_move(page, stamp_of(locator));
    MarkBufferDirty(page.buffer);

    if (!RelationNeedsWAL(relation)) {
        set_values(page, move.to, 0);
        set_stamp(page, stamp_without_wal(stamp));
        return InvalidXLogRecPtr;
    }
    if (is_move_logged(page, stamp, move.steps))
        set_values(page, move.to, page.data->log_cnt - move.steps);
    else {
        GetTopTransactionId();
        START_CRIT_SECTION();
        log_state(page, locator, stamp, move.logged_to);
        set_values(page, move.to, move.logged_ahead);
        END_CRIT_SECTION();
    }
    return PageGetLSN(page.page);
}

// Nothing has been logged since the last checkpoint if the page is older; it then has its own last
// value on disk.
Position read_position(Relation relation, int64 increment) {
    const OpenPage page = lock_page(ReadBuffer(relation, 0), BUFFER_LOCK_SHARE);
    const bool is_logged_ahead = has_stamp(page, stamp_of(locator_of(relation))) &&
                                 BufferGetLSNAtomic(page.buffer) > GetRedoRecPtr();
    const uint64 last = last_tick_of(page);
    const Position position = {last,
                               last + (is_logged_ahead ? logged_remainder(page, increment) : 0),
                               page.data->is_called};
    UnlockReleaseBuffer(page.buffer);
    return position;
}

}  // namespace shardid
