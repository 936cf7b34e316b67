// The agent's own thread in a program that it visits: it answers, and does what it is told to. When the one who came
// with it hangs up, the agent leaves. Not async-signal-safe.
#pragma once

namespace sonde {

struct AttachBlock;

// Starts it. `block`: of the injector's, to be unmapped when its threads have ended; null: there is none.
// False: the text says why.
bool start_control(AttachBlock* block, const char* request, const char** why);

// Sleeps until it is called, visit after visit, as long as the program runs (SONDE_DORMANT=1). False: it is not there.
bool start_dormant();
bool agent_sleeps_through();  // async-signal-safe: asked for as above
bool agent_sleeps();  // async-signal-safe: asked for as above, and no visit is under way
// The program's last thread ends: a sleeping one would keep the process alive.
void end_dormant();

// In the child of a fork: its parent's thread is not there. One that sleeps begins anew.
void control_after_fork();

}  // namespace sonde
