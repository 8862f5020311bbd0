// The one page of a sequence, where a generator keeps its last tick. Nothing else in the extension
// touches buffers or WAL.
#pragma once

#include "core/binding.hpp"
#include "core/page_notes.hpp"

#include "engine/generator.h"

namespace shardid {

// A page that is pinned and locked exclusively.
struct OpenPage {
    Buffer buffer;
    Page page;
    HeapTupleHeader tuple;
    FormData_pg_sequence_data *data;
};

// For lock_page: exclusively, where somebody else has it.
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
    return {buffer, page, tuple, data};
}

// Pins and locks the generator's page. Between this and close_page nothing may wait, and nothing
// but the page may be looked at.
inline OpenPage open_page(Generator &generator) {
    return lock_page(likely(is_kept(generator.pin)) ? generator.pin.buffer : pin_page(generator));
}

inline void close_page(const Generator &generator, const OpenPage &page) {
    if (likely(is_kept(generator.pin)))
        LockBuffer(page.buffer, BUFFER_LOCK_UNLOCK);
    else
        UnlockReleaseBuffer(page.buffer);
}

// The same for any sequence, pinned for this once. REQUIRED: the relation is locked, a sequence,
// and none of another session's temporary ones.
OpenPage open_page(Relation relation);

void close_page(const OpenPage &page);

inline bool has_stamp(const OpenPage &page, uint32 stamp) {
    return HeapTupleHeaderGetRawCommandId(page.tuple) == stamp;
}

// How many of the ticks after the last one WAL covers. Where we have drawn, log_cnt holds it as its
// complement, which is negative: core's nextval takes that for none, and neither it nor setval ever
// leaves a negative one behind.
inline bool has_our_remainder(const OpenPage &page) {
    return page.data->log_cnt < 0;
}

inline uint64 our_remainder(const OpenPage &page) {
    return ~static_cast<uint64>(page.data->log_cnt);
}

// Whether the page is as we left it when we last drew from this very storage, whose stamp_of this
// is. If not, it is new, or somebody else has moved it (setval, nextval, a subscription that
// synchronizes its sequences), and it knows nothing of ids that were drawn a moment ago.
inline bool is_ours(const OpenPage &page, uint32 stamp) {
    return likely(has_our_remainder(page)) &&
           (likely(has_stamp(page, stamp)) || has_stamp(page, stamp_without_wal(stamp)));
}

// The notes that we keep on the page (page_notes.hpp), in the offset of its tuple's t_ctid.
inline PageNotes notes_of(const OpenPage &page) {
    return notes_of(ItemPointerGetOffsetNumberNoCheck(&page.tuple->t_ctid));
}

// What the storage is bound to (binding.hpp), or `unbound`: in the tuple's raw xmin, and in the
// block of its t_ctid. Nothing reads the one where HEAP_XMIN_FROZEN is set and the other where
// HEAP_XMAX_INVALID is, both travel in XLOG_SEQ_LOG, and sequence.c sets both when it gives a
// sequence new storage (fill_seq_fork_with_data).
inline uint64 binding_of(const OpenPage &page) {
    return uint64{HeapTupleHeaderGetRawXmin(page.tuple)} << 32 |
           ItemPointerGetBlockNumberNoCheck(&page.tuple->t_ctid);
}

// The sequence's last value as a tick. One that counts from below zero starts, for us, at zero.
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

// As we leave a page that we have drawn from, WAL covering `remainder` more ticks.
inline void set_state(const OpenPage &page, uint64 last_tick, uint64 remainder) {
    set_values(page, static_cast<int64>(last_tick), log_cnt_of(remainder));
}

// Whether WAL that will be replayed covers the tick.
//
// A page and its remainder of logged values can be copied into another file: CREATE DATABASE ...
// TEMPLATE does. The remainder was logged for the original only and must not be trusted in the
// copy. The stamp tells them apart. It stands in the tuple header's t_cid, which nothing reads in a
// frozen tuple, which travels in XLOG_SEQ_LOG, and which sequence.c sets to zero when it gives a
// sequence new storage (fill_seq_fork_with_data). A page changed without WAL has another one. And a
// remainder that nextval has left covers nextval's values only: compared signed, its complement is
// below every distance.
//
// The buffer is already dirty here, so that a checkpoint whose redo pointer we do not see yet is
// bound to write the page after we are done.
pg_attribute_always_inline bool is_logged(const OpenPage &page, const Generator &generator,
                                          uint64 tick) {
    return has_stamp(page, generator.stamp) &&
           static_cast<int64>(tick - last_tick_of(page)) <= ~page.data->log_cnt &&
           PageGetLSN(page.page) > GetRedoRecPtr();
}

// Puts a tick on the page that was just drawn, if WAL covers it; else returns false. REQUIRED: as
// of record_tick.
pg_attribute_always_inline bool record_logged_tick(const OpenPage &page, const Generator &generator,
                                                   uint64 tick) {
    MarkBufferDirty(page.buffer);
    if (unlikely(!is_logged(page, generator, tick)))
        return false;
    set_state(page, tick, our_remainder(page) - (tick - last_tick_of(page)));
    return true;
}

// Puts a tick on the page that was just drawn, and writes WAL up to `log_to` where it does not
// cover the tick. A page that is not ours is then bound to generator.known.binding. Returns how far
// WAL has to be durable before the tick may be shown to anyone. REQUIRED: tick >
// last_tick_of(page), tick <= log_to <= generator.max_value; the page is unbound or bound to this.
XLogRecPtr record_tick(const OpenPage &page, const Generator &generator, uint64 tick,
                       uint64 log_to);

// Moves the page on to `tick`, unless it is there already, and binds it. A page that is not ours is
// not ours after it. Returns how far WAL has to be durable before anyone may rely on it. REQUIRED:
// tick <= generator.max_value; the page is unbound or bound to this.
XLogRecPtr record_raise(const OpenPage &page, const Generator &generator, uint64 tick);

// Notes on a page that was just drawn from that its lead over the clock is mentioned now, and
// returns whether that is due: at most once a minute over all sessions.
bool note_mention(const OpenPage &page, TimestampTz clock);

// A move of a sequence by some of its steps, and how far to log it where WAL is due.
struct Move {
    int64 to;
    int64 steps;
    int64 logged_to;
    int64 logged_ahead;  // the steps from `to`
};

// Moves the sequence on, and returns how far WAL has to be durable before its values may be shown.
XLogRecPtr record_move(const OpenPage &page, Relation relation, const Move &move);

// Where a sequence stood when its page was read.
struct Position {
    uint64 last_tick;
    uint64 logged_to;  // the tick from which it would go on after a crash now
    bool is_called;
};

// Reads it under a shared lock. REQUIRED: as of open_page.
Position read_position(Relation relation, int64 increment);

// WAL is written this far ahead of the ticks drawn: a busy generator then logs once a second, and
// a crash moves it ahead of the clock by no more than that.
inline constexpr uint64 logged_ahead_ms = 1000;

// Other storage of a generator, which is not in use now, and which only this transaction can touch.
struct ReplacedStorage {
    Locator locator;
    bool is_permanent;
    bool needs_wal;
    uint64 max_value;  // the largest value that its sequence may hold
    uint64 logged_to;  // how far this transaction has written WAL for it
    Buffer recent_buffer;
};

// Moves the sequence in that storage on to `tick`, unless it is there already, and writes WAL up to
// `log_to` where that is due; storage that is unbound is bound to `binding`, storage that is bound
// to another layout left alone. Returns how far WAL
// has to be durable before the tick may be shown. REQUIRED: the storage exists and is not
// temporary, tick <= log_to, tick <= storage.max_value.
XLogRecPtr remember_tick(ReplacedStorage &storage, uint64 tick, uint64 log_to, uint64 binding);

}  // namespace shardid
