// Pinning a generator's page. Pinning and unpinning cost as much as all the rest of drawing an id,
// so from a transaction's second id on the pin is kept to the end of the transaction, as the lock
// on the sequence is.
#pragma once

#include "engine/generator.h"

namespace shardid {

// To be called once, when the library is loaded.
void start_unpinning_at_commit();

// Whether the pin outlives the call that took it. REQUIRED: pin_page was called.
inline bool is_pin_kept(const Generator &generator) {
    return generator.pinned_in == current_local_xid();
}

// For pin_page, where no pin is kept.
Buffer find_and_pin_page(Generator &generator);

// The buffer of the generator's page, pinned.
inline Buffer pin_page(Generator &generator) {
    return likely(is_pin_kept(generator)) ? generator.recent_buffer : find_and_pin_page(generator);
}

// Gives a kept pin back, for a page that is no longer the generator's. No kept pin: nothing to do.
void drop_kept_pin(Generator &generator);

}  // namespace shardid
