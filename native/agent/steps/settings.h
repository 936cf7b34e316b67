// What a native torch program is set to, told once: raw/PID.native.json, a line of JSON.
#pragma once

namespace sonde {

// After the first optimizer step or module call of a process: torch is initialised then, so asking changes nothing.
void tell_settings();

}  // namespace sonde
