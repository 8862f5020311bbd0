// The one page of a sequence, where a generator keeps its last tick. Whatever changes the page and
// writes its WAL is here; draws and readers look at it while it is open.
#pragma once

#include "core/binding.hpp"
#include "core/notes.hpp"

#include "engine/sequence.h"
#include "engine/wait.h"

namespace shardid {

// Pinning a generator's page. Pinning and unpinning cost as much as all the rest of drawing an id,
// so from a transaction's second id on the pin is kept to the end of the transaction, as the lock
// on the sequence is.
struct PagePin {
    Buffer buffer;                    // where the page was last seen
    LocalTransactionId last_used_in;  // the last transaction that has pinned it
    LocalTransactionId kept_in;       // the transaction to whose end it is pinned there
};

// To be called once, when the library is loaded.
void start_unpinning_at_commit();

// Whether the pin outlives the call that took it.
inline bool is_kept(const PagePin &pin) {
    return pin.kept_in == current_lxid();
}

// The buffer of the sequence's page, pinned. REQUIRED: the pin is not kept.
Buffer pin_page(PagePin &pin, const Sequence &sequence);

// Releases the pin of a page that is no longer the generator's, if it is kept.
void drop_kept_pin(PagePin &pin);

// A page that is pinned and locked.
struct OpenPage {
    Buffer buffer;
    Page page;
    HeapTupleHeader tuple;
    FormData_pg_sequence_data *data;
};

// For lock_page: takes the lock exclusively when another session has it.
void lock_taken_page(Buffer buffer);

[[noreturn]] void refuse_magic(uint32 magic);

// See sequence.c's read_seq_tuple.
pg_attribute_always_inline OpenPage lock_page(Buffer buffer,
                                              BufferLock mode = BUFFER_LOCK_EXCLUSIVE) {
    if (mode != BUFFER_LOCK_EXCLUSIVE)
        LockBuffer(buffer, mode);
    else if (unlikely(!ConditionalLockBuffer(buffer)))
        lock_taken_page(buffer);
    Page page = BufferGetPage(buffer);
    const uint32 magic = *reinterpret_cast<uint32 *>(PageGetSpecialPointer(page));
    if (unlikely(magic != sequence_page_magic))
        refuse_magic(magic);

    auto *tuple = reinterpret_cast<HeapTupleHeader>(
        PageGetItem(page, PageGetItemId(page, FirstOffsetNumber)));
    auto *data = reinterpret_cast<FormData_pg_sequence_data *>(reinterpret_cast<char *>(tuple) +
                                                               tuple->t_hoff);
    Assert(HeapTupleHeaderXminFrozen(tuple) && (tuple->t_infomask & HEAP_XMAX_INVALID) != 0);
    return {buffer, page, tuple, data};
}

// Pins and locks a generator's page. Between this and close_page nothing may wait, and nothing but
// the page may be looked at. The exception is note_first_ms, which waits for a partition of the
// lock table: readers of pg_locks and settled_below hold all of them while they copy its entries.
inline OpenPage open_page(PagePin &pin, const Sequence &sequence) {
    Assert(no_page_is_locked());
    const OpenPage page = lock_page(likely(is_kept(pin)) ? pin.buffer : pin_page(pin, sequence));
    Assert(is_first_page_of(page.buffer, sequence.locator));
    return page;
}

inline void close_page(const PagePin &pin, const OpenPage &page) {
    Assert(page.buffer == pin.buffer);
    if (likely(is_kept(pin)))
        LockBuffer(page.buffer, BUFFER_LOCK_UNLOCK);
    else
        UnlockReleaseBuffer(page.buffer);
}

// The same for any sequence, pinned for this one time. REQUIRED: the relation is locked, a
// sequence, and not another session's temporary one.
OpenPage open_page(Relation relation);

inline void close_page(const OpenPage &page) {
    UnlockReleaseBuffer(page.buffer);
}

// Another value for every relfilenode of a database, and for the same relfilenode number of every
// other database. Never zero.
uint32 stamp_of(const RelFileLocator &locator);

// The stamp of a page that was changed without WAL: of a temporary sequence, or of a relfilenode
// made in the same transaction under wal_level = minimal. There the commit logs the page as it is,
// with a log_cnt that nextval may have left and that no WAL covers: so it must not pass for
// stamp_of. Never zero. Equal to another database's stamp_of the same relfilenode number only if
// the OIDs of the two databases differ by a multiple of 2^30.
inline uint32 stamp_without_wal(uint32 stamp) {
    constexpr uint32 mask = uint32{1} << 30;
    return stamp == mask ? 1 : stamp ^ mask;
}

inline bool has_stamp(const OpenPage &page, uint32 stamp) {
    return HeapTupleHeaderGetRawCommandId(page.tuple) == stamp;
}

// How many ticks after last_value need no WAL of their own is kept in log_cnt, as its complement:
// the sign says that a draw has left it there. Core's nextval takes a negative log_cnt for 0, and
// neither it nor setval ever leaves one behind.
inline bool has_our_remainder(const OpenPage &page) {
    return page.data->log_cnt < 0;
}

inline uint64 our_remainder(const OpenPage &page) {
    return ~static_cast<uint64>(page.data->log_cnt);
}

// Whether a draw made the page what it is, in the storage of this stamp_of, and only draws and
// raises have changed it since. If not, the page is new, a copy, or was moved (setval, nextval, a
// subscription that synchronizes sequences): it does not show which ids were drawn a moment ago.
inline bool is_ours(const OpenPage &page, uint32 stamp) {
    return likely(has_our_remainder(page)) &&
           (likely(has_stamp(page, stamp)) || has_stamp(page, stamp_without_wal(stamp)));
}

// A record of WAL, and the tick up to which it covers.
struct Logged {
    XLogRecPtr lsn;
    uint64 up_to;
};

// The records that draws wrote: the last one, and the one before, if nothing else was written for
// the page in between. A record of nextval_range covers no tick: it is noted as the one before.
struct LastRecords {
    Logged last;
    Logged before;
};

// They are kept in the hole between line pointers and tuple: in the sector of the page's LSN, so
// that a torn page has them as of its LSN. XLOG_SEQ_LOG has no hole, so its replay clears them, and
// seq_mask hides them. Others leave them as they are when they write, and so does an image of the
// page with its hole: then the page has another LSN.
inline LastRecords &logged_on(const OpenPage &page) {
    constexpr size_t begin = MAXALIGN(SizeOfPageHeaderData + sizeof(ItemIdData));
    static_assert(begin + sizeof(LastRecords) <= 512);
    return *reinterpret_cast<LastRecords *>(page.page + begin);
}

// Whether the page's last record is one that a draw of this library has noted.
inline bool has_noted_record(const OpenPage &page) {
    return logged_on(page).last.lsn == PageGetLSN(page.page);
}

// The same of nextval_range.
inline bool has_noted_range(const OpenPage &page) {
    return logged_on(page).before.lsn == PageGetLSN(page.page);
}

// The notes that we keep on the page (notes.hpp), in the offset of its tuple's t_ctid.
inline PageNotes notes_of(const OpenPage &page) {
    return notes_of(ItemPointerGetOffsetNumberNoCheck(&page.tuple->t_ctid));
}

// What the relfilenode is bound to (binding.hpp), or `unbound`: in the tuple's raw xmin, which
// nothing reads where HEAP_XMIN_FROZEN is set, and in the block number of its t_ctid, which nothing
// reads where HEAP_XMAX_INVALID is. XLOG_SEQ_LOG has the whole tuple, and fill_seq_fork_with_data
// (sequence.c) resets both in a new relfilenode.
inline uint64 binding_of(const OpenPage &page) {
    return uint64{HeapTupleHeaderGetRawXmin(page.tuple)} << 32 |
           ItemPointerGetBlockNumberNoCheck(&page.tuple->t_ctid);
}

// last_value as a tick. A negative one, of a sequence that started below zero, counts as 0.
inline uint64 last_tick_of(const OpenPage &page) {
    return page.data->last_value < 0 ? 0 : static_cast<uint64>(page.data->last_value);
}

inline int64 log_cnt_of(uint64 remainder) {
    return static_cast<int64>(~remainder);
}

inline void set_values(const OpenPage &page, int64 last_value, int64 log_cnt) {
    page.data->last_value = last_value;
    page.data->is_called = true;
    page.data->log_cnt = log_cnt;
}

// The state in which a draw leaves the page; `remainder` more ticks need no WAL of their own.
inline void set_state(const OpenPage &page, uint64 last_tick, uint64 remainder) {
    Assert(last_tick <= INT64_MAX && remainder <= INT64_MAX - last_tick);
    set_values(page, static_cast<int64>(last_tick), log_cnt_of(remainder));
}

// Whether WAL that will be replayed covers the tick, so that none need be written: if the page's
// last record is one that a draw noted here, for what it then left in log_cnt. Another covers less:
// one of nextval or setval, or of a raise; or an image of the page, as core logs one for a hint
// bit. The copy of a page by CREATE DATABASE ... TEMPLATE has the original's notes: the stamp tells
// it apart. It is in the tuple header's t_cid: nothing reads it in a frozen tuple, XLOG_SEQ_LOG has
// it, and fill_seq_fork_with_data (sequence.c) sets it to zero in a new relfilenode.
//
// REQUIRED: the redo pointer was read when the buffer was dirty already. Then a checkpoint whose
// redo pointer was not seen yet writes the page after this draw. (nextval_internal marks it dirty
// later; with that order the model in proof/model finds a duplicate.)
pg_attribute_always_inline bool is_logged(const OpenPage &page, const Sequence &sequence,
                                          uint64 tick, XLogRecPtr redo) {
    return has_stamp(page, sequence.stamp) && tick - last_tick_of(page) <= our_remainder(page) &&
           has_noted_record(page) && PageGetLSN(page.page) > redo;
}

// How far WAL has to be durable before a tick up to this one may be returned: to the last record,
// or to the one before, where that covers the tick and will be replayed. REQUIRED: is_logged, or
// it was just logged; the redo pointer as there.
pg_attribute_always_inline XLogRecPtr covered_by(const OpenPage &page, uint64 tick,
                                                 XLogRecPtr redo) {
    const Logged &before = logged_on(page).before;
    return tick <= before.up_to && before.lsn > redo ? before.lsn : PageGetLSN(page.page);
}

// Sets last_value to a tick, if WAL covers it, and returns how far that has to be durable; else
// returns InvalidXLogRecPtr. REQUIRED: as of record_tick.
pg_attribute_always_inline XLogRecPtr record_logged_tick(const OpenPage &page,
                                                         const Sequence &sequence, uint64 tick) {
    Assert(tick > last_tick_of(page));
    MarkBufferDirty(page.buffer);
    const XLogRecPtr redo = GetRedoRecPtr();
    if (unlikely(!is_logged(page, sequence, tick, redo)))
        return InvalidXLogRecPtr;
    set_state(page, tick, our_remainder(page) - (tick - last_tick_of(page)));
    return covered_by(page, tick, redo);
}

// Sets last_value to a tick, and writes WAL up to last.log_to where it is due: when half of what
// was logged is used up, so that it can be flushed before a draw needs it. A page that is not ours
// becomes ours, bound to last.binding. Returns how far WAL has to be durable before the tick may be
// returned. REQUIRED: last.tick > last_tick_of(page), last.tick <= last.log_to <=
// sequence.max_value; the page is unbound or bound to this.
XLogRecPtr record_tick(const OpenPage &page, const Sequence &sequence, const LastDraw &last);

// The same where WAL does not cover the tick, which can be last_tick_of(page), too. REQUIRED: the
// buffer is dirty.
XLogRecPtr log_tick(const OpenPage &page, const Sequence &sequence, const LastDraw &last);

// Raises last_value to `tick`, unless it is there or further already, and binds the page. A page
// that is not ours does not become ours by it. Returns how far WAL has to be durable before anyone
// may rely on it. REQUIRED: tick <= sequence.max_value; the page is unbound or bound to this.
XLogRecPtr record_raise(const OpenPage &page, const Sequence &sequence, uint64 binding,
                        uint64 tick);

// Whether the log has to mention the generator's lead over the clock: at most once per minute over
// all sessions. Notes on the page that it does so now. REQUIRED: the page was just drawn from.
bool note_mention(const OpenPage &page, TimestampTz clock);

// An advance of a plain sequence by some of its steps, and how far to log it where WAL is due.
struct Move {
    int64 to;
    int64 steps;
    int64 logged_to;
    int64 logged_ahead;  // the steps from `to`
};

// Advances the sequence, and returns how far WAL has to be durable before its values are returned.
XLogRecPtr record_move(const OpenPage &page, Relation relation, const Move &move);

// The position of a sequence when its page was read.
struct Position {
    uint64 last_tick;
    uint64 logged_to;  // the tick from which it would continue after a crash now
    bool is_called;
    uint64 binding;  // binding_of
    bool is_ours;
};

// Reads it under a shared lock. REQUIRED: as of open_page.
Position read_position(Relation relation, int64 increment);

}  // namespace shardid
