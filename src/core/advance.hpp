// The rule by which a generator advances from one tick to the next; what gives a tick its fields,
// which is W below: Widths, WorkedWidths, or a Count; and how far a generator can still go. Pure:
// every caller reads its clock itself and passes what it read.
#pragma once

#include <bit>
#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

enum class Verdict {
    draw,   // take `tick`
    wait,   // every sequence number of the last time is used: wait, then ask again
    ended,  // the time field has no value left
};

struct Advance {
    Verdict verdict;
    std::uint64_t tick;
};

// How many sequence numbers a new time may begin at: it continues from the last number, modulo a
// quarter of the range. From 0 every time, `id % n` would be skewed at low rates; through the whole
// range, a bulk insert would have to wait at every wrap.
constexpr std::uint64_t first_sequence_range(Widths widths) {
    return widths.sequence_bits < 2 ? 1 : std::uint64_t{1} << (widths.sequence_bits - 2);
}

constexpr std::uint64_t first_sequence_after(Widths widths, std::uint64_t last_tick) {
    return (last_tick + 1) & (first_sequence_range(widths) - 1);
}

// The tick after `last`, which is strictly greater, at clock time `now`. `step_to` is the earliest
// time that the caller may use although the clock is behind it, earned by waiting (wait.hpp);
// 0 when nothing was earned.
template <typename W = Widths>
constexpr Advance advance(W widths, std::uint64_t last, std::uint64_t now,
                          std::uint64_t step_to = 0) {
    const std::uint64_t time = now > step_to ? now : step_to;
    if (time > tick_time(widths, last)) {
        if (time > max_drawn_time(widths))
            return {Verdict::ended, 0};
        return {Verdict::draw, make_tick(widths, time, first_sequence_after(widths, last))};
    }
    if (last >= max_tick(widths))
        return {Verdict::ended, 0};
    if (tick_sequence(widths, last) == max_sequence(widths))
        return {Verdict::wait, 0};
    return {Verdict::draw, last + 1};
}

// As advance, for a caller that may borrow time: where every number of the last time is used up, it
// steps to the next time at once, unless that is more than `borrow` times ahead of the clock.
template <typename W = Widths>
constexpr Advance advance_or_borrow(W widths, std::uint64_t last, std::uint64_t now,
                                    std::uint64_t borrow) {
    const Advance next = advance(widths, last, now);
    const std::uint64_t step_to = tick_time(widths, last) + 1;
    if (next.verdict != Verdict::wait || step_to - now > borrow)
        return next;
    return advance(widths, last, now, step_to);
}

// How many of the `wanted` ticks after this one are of the same time, and can be drawn with it.
template <typename W = Widths>
constexpr std::uint64_t further_ticks(W widths, std::uint64_t tick, std::uint64_t wanted) {
    const std::uint64_t rest = max_sequence(widths) - tick_sequence(widths, tick);
    return wanted < rest ? wanted : rest;
}

// This number of times, in whole milliseconds.
template <typename W = Widths>
constexpr std::uint64_t ms_of_times(W widths, std::uint64_t times) {
    return step_us(widths) >= us_per_ms ? times * (step_us(widths) / us_per_ms)
                                        : times / (us_per_ms / step_us(widths));
}

// The ticks of this number of milliseconds.
template <typename W = Widths>
constexpr std::uint64_t ticks_of_ms(W widths, std::uint64_t ms) {
    return make_tick(widths, ms * us_per_ms / static_cast<std::uint64_t>(step_us(widths)), 0);
}

// The tick so many milliseconds after this one, or the last of all. REQUIRED: tick <= max_tick.
template <typename W = Widths>
constexpr std::uint64_t tick_after_ms(W widths, std::uint64_t tick, std::uint64_t ms) {
    const std::uint64_t room = max_tick(widths) - tick;
    const std::uint64_t ahead = ticks_of_ms(widths, ms);
    return tick + (room < ahead ? room : ahead);
}

// How far WAL is written ahead: to a second after the clock, so that a busy generator writes about
// two records per second, and is ahead by no more after a crash. If it is ahead already, a tenth of
// a second further, so that crashes one after the other hardly add up; but not past max_lead, where
// nothing could be drawn.
inline constexpr std::uint64_t logged_ahead_ms = 1000;
inline constexpr std::uint64_t logged_further_ms = 100;

// The tick to which WAL is written for this one. REQUIRED: tick <= max_tick.
template <typename W>
constexpr std::uint64_t logged_to(W widths, std::uint64_t tick, std::uint64_t lead_ms,
                                  std::uint64_t max_lead_ms) {
    const std::uint64_t further = lead_ms + logged_further_ms < logged_ahead_ms
                                      ? logged_ahead_ms - lead_ms
                                      : logged_further_ms;
    const std::uint64_t room = lead_ms < max_lead_ms ? max_lead_ms - lead_ms : 0;
    return tick_after_ms(widths, tick, further < room ? further : room);
}

// How far the tick's time is ahead of clock time `now`, in whole milliseconds; 0 if it is not.
template <typename W = Widths>
constexpr std::uint64_t lead_ms_of(W widths, std::uint64_t tick, std::uint64_t now) {
    const std::uint64_t time = tick_time(widths, tick);
    return ms_of_times(widths, time > now ? time - now : 0);
}

inline constexpr std::uint64_t day_ms = std::uint64_t{24} * 60 * 60 * 1000;
inline constexpr std::uint64_t year_ms = 365 * day_ms;

// Whether the first tick of a used sequence, whose storage is bound to nothing yet, would be a
// jump: more than twice the last value, or counted from an epoch so young that the last value could
// double within a day.
template <typename W = Widths>
constexpr bool is_jump(W widths, std::uint64_t last, std::uint64_t tick) {
    return tick / 2 > last || tick < ticks_of_ms(widths, day_ms);
}

// Whether the ticks end within a year of this one, and with them the sequence.
template <typename W = Widths>
constexpr bool ends_soon(W widths, std::uint64_t tick) {
    const std::uint64_t left = max_drawn_time(widths) - tick_time(widths, tick);
    return ms_of_times(widths, left) < year_ms;
}

// Widths with the masks and bounds that they make, worked out once for many draws.
struct WorkedWidths {
    int sequence_bits;
    std::uint64_t largest_sequence;
    std::uint64_t largest_first_sequence;
    std::uint64_t last_tick;
    std::uint64_t last_time;

    friend constexpr std::int64_t step_us(const WorkedWidths & /*w*/) { return us_per_ms; }
    friend constexpr std::uint64_t max_sequence(const WorkedWidths &w) {
        return w.largest_sequence;
    }
    friend constexpr std::uint64_t max_tick(const WorkedWidths &w) { return w.last_tick; }
    friend constexpr std::uint64_t max_drawn_time(const WorkedWidths &w) { return w.last_time; }
    friend constexpr std::uint64_t make_tick(const WorkedWidths &w, std::uint64_t time,
                                             std::uint64_t sequence) {
        return time << w.sequence_bits | sequence;
    }
    friend constexpr std::uint64_t tick_time(const WorkedWidths &w, std::uint64_t tick) {
        return tick >> w.sequence_bits;
    }
    friend constexpr std::uint64_t tick_sequence(const WorkedWidths &w, std::uint64_t tick) {
        return tick & w.largest_sequence;
    }
    friend constexpr std::uint64_t first_sequence_after(const WorkedWidths &w, std::uint64_t last) {
        return (last + 1) & w.largest_first_sequence;
    }
};

// REQUIRED: the widths are valid.
constexpr WorkedWidths worked_out(Widths widths) {
    return {widths.sequence_bits, max_sequence(widths), first_sequence_range(widths) - 1,
            max_tick(widths), max_drawn_time(widths)};
}

// REQUIRED: as pack_id; the shard has this many bits.
constexpr std::uint64_t pack_id(const WorkedWidths &widths, int shard_bits, std::uint64_t shard,
                                std::uint64_t tick) {
    const std::uint64_t sequence = tick_sequence(widths, tick);
    return (tick ^ sequence) << shard_bits | shard << widths.sequence_bits | sequence;
}

// Ticks that are a plain count, without fields of bits: so many numbers in each step of time, one
// after the other. tick = time * numbers + number
struct Count {
    std::int64_t step;  // in microseconds
    std::uint64_t numbers;
    std::uint64_t last_tick;

    friend constexpr std::int64_t step_us(const Count &count) { return count.step; }
    friend constexpr std::uint64_t max_sequence(const Count &count) { return count.numbers - 1; }
    friend constexpr std::uint64_t max_tick(const Count &count) { return count.last_tick; }
    friend constexpr std::uint64_t max_drawn_time(const Count &count) {
        return count.last_tick / count.numbers;
    }
    friend constexpr std::uint64_t make_tick(const Count &count, std::uint64_t time,
                                             std::uint64_t number) {
        return time * count.numbers + number;
    }
    friend constexpr std::uint64_t tick_time(const Count &count, std::uint64_t tick) {
        return tick / count.numbers;
    }
    friend constexpr std::uint64_t tick_sequence(const Count &count, std::uint64_t tick) {
        return tick % count.numbers;
    }
    // A new time begins at 0: the tick is then the time itself, in the finer unit.
    friend constexpr std::uint64_t first_sequence_after(const Count & /*count*/,
                                                        std::uint64_t /*last*/) {
        return 0;
    }
};

// REQUIRED of every Count that is drawn.
constexpr bool is_drawable(const Count &count) {
    return count.step > 0 && count.numbers > 0 && count.last_tick <= INT64_MAX;
}

// The last tick whose ids are positive as int8.
constexpr std::uint64_t last_positive_tick(Widths widths) {
    return UINT64_MAX >> 1 >> widths.shard_bits;
}

// The first tick after which ids turn negative within a year, if they do at all: without shard bits
// the ticks end first.
constexpr std::uint64_t negative_soon_from(Widths widths) {
    if (widths.shard_bits == 0)
        return UINT64_MAX;
    const std::uint64_t first_negative = last_positive_tick(widths) + 1;
    const std::uint64_t year = make_tick(widths, year_ms, 0);
    return first_negative > year ? first_negative - year : 0;
}

// How many bits shard and sequence can have together so that ids stay positive for another ten
// years, if the epoch was so many milliseconds ago; less than 0 if there are none.
constexpr int most_positive_bits(std::uint64_t now) {
    return id_bits - 1 - static_cast<int>(std::bit_width(now + 10 * year_ms));
}

// How many ticks up to `end`, itself among them, can at most be drawn after `last`, at clock time
// `now`: those of times that have passed are lost.
constexpr std::uint64_t ticks_left(Widths widths, std::uint64_t last, std::uint64_t now,
                                   std::uint64_t end) {
    if (now > tick_time(widths, end))
        return 0;
    const std::uint64_t next = now > tick_time(widths, last) ? make_tick(widths, now, 0) : last + 1;
    return next > end ? 0 : end - next + 1;
}

}  // namespace shardid
