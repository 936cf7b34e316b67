// Does an address look like one that a call pushed? Async-signal-safe.
#pragma once

#include <cstdint>

namespace sonde {

enum class CallBefore : uint8_t { None, Direct, Indirect };

// What kind of call instruction ends at `address`; for a direct one *target is where it goes.
CallBefore call_before(uint64_t address, uint64_t* target);

}  // namespace sonde
