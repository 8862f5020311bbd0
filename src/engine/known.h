// What a session knows of a generator's storage (its relfilenode): what it is bound to. Storage
// stays what it was bound to, so what is known stays true until a check finds other storage.
#pragma once

#include "core/advance.hpp"
#include "core/binding.hpp"

#include "engine/first_note.h"

#include "compat.h"

namespace shardid {

struct Lease;
struct OpenPage;
struct Sequence;

struct Known {
    uint64 binding;  // see binding.hpp; what it is to be bound to, while nothing is known
    Kind kind;
    Layout layout;         // of ids, as in the binding
    WorkedWidths worked;   // the same widths
    uint64 negative_soon;  // from this tick on there is a warning to give
    uint64 at_once_from;   // only these ticks have nothing to look after: from this one,
    uint64 at_once_count;  // so many

    // Never forgotten.
    bool has_warned;       // of negative ids, in this session
    FirstNote first_note;  // the last one
};

inline void forget(Known &known, uint64 binding) {
    known = {binding, Kind::none,       {{}, DT_NOBEGIN}, {}, UINT64_MAX, 0,
             0,       known.has_warned, known.first_note};
}

// Whether this session has drawn ids of the layout from the generator as it is now. Then the layout
// is valid, and its ids fit the sequence. The kind says whether anything is known: the layout is an
// argument of a call, and can have any value.
inline bool is_known(const Known &known, const Layout &layout) {
    return known.kind == Kind::ids && known.layout == layout;
}

inline bool is_known(const Known &known, const OwnLayout &layout) {
    return known.kind == layout.kind;
}

// Whether the storage is bound to what the call draws, or to nothing. Ids need exactly the layout
// that the call asks for; UUIDs and ObjectIds accept any seed. REQUIRED: begin_to_know.
bool fits_binding(const OpenPage &page, const Known &known);

// Whether the caller lacks the right to have the storage bound by a draw of this tick. Core asks
// for UPDATE to let a sequence jump (setval). So does a draw that makes a generator of a plain
// sequence; but not one from a generator whose storage has forgotten its layout, in a dump or
// pg_upgrade, nor one from a sequence that is as it was made, unless the layout ends soon. W is
// Widths, or a Count.
template <typename W>
bool may_not_jump(const OpenPage &page, const Sequence &sequence, const W &widths, uint64 tick);

// UUIDs and ObjectIds adopt the seed of the storage, if it has one. REQUIRED: fits_binding.
void take_binding(const OpenPage &page, Known &known);

// REQUIRED: the storage is bound to known.binding. Until limit_draws_at_once no id is drawn at
// once.
void learn(Known &known);

// Sets which ticks of ids are drawn at once, after `last` was drawn. REQUIRED: learn.
void limit_draws_at_once(Known &known, const Lease &lease, uint64 last);

// Until limit_draws_at_once no id is drawn at once.
inline void draw_none_at_once(Known &known) {
    known.at_once_count = 0;
}

}  // namespace shardid
