// Secrets in a command line → "***", as sonde/redact.py does it; tests/data/secrets.json has the cases of both.
#pragma once

#include <cstddef>

namespace sonde {

// `command`: arguments, each but the last ended by a zero byte. Writes at most `room` bytes of the same form
// without its secrets to `shown`, and returns how many. Async-signal-safe: it touches nothing but its arguments.
size_t hide_secrets(const char* command, size_t size, char* shown, size_t room);

}  // namespace sonde
