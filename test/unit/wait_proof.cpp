// What core/wait.hpp promises, at the ends of its ranges and in the middle.
#include "core/wait.hpp"

namespace shardid {

namespace {

constexpr Wait w = begin_wait(5, 5400);
static_assert(!may_step(w, 5400, 999) && may_step(w, 5400, 1000));
static_assert(may_step(w, 4000, 1000) && may_step(w, 6400, 1000));
static_assert(!may_step(w, 5900, 1000) && !may_step(w, 5900, 50000));
static_assert(sleep_us(w, 0, 5400) == 600 && sleep_us(w, 0, 5000) == 1000);
constexpr Wait ahead = begin_wait(9, 5400);
static_assert(sleep_us(ahead, 0, 5400) == 1000 && sleep_us(ahead, 0, 5900) == 500 &&
              sleep_us(ahead, 0, 2000) == 1000);
// The clock is set back during a wait: a millisecond from there is enough.
constexpr Wait set_back = look_again(ahead, 2000);
static_assert(!may_step(set_back, 2900, 1900) && may_step(set_back, 3000, 2000));
// Steps of another length.
constexpr Wait short_one = begin_wait(5, 5, 1);
static_assert(sleep_us(short_one, 0, 5) == 1 && sleep_us(short_one, 0, 2) == 1);
static_assert(!may_step(short_one, 5, 0) && may_step(short_one, 5, 1));

}  // namespace

}  // namespace shardid
