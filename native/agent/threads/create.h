#pragma once

#include <pthread.h>

namespace sonde {

// The system's pthread_create: for threads of the agent's own.
int real_pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument);

// Not async-signal-safe. Makes the key whose destructor notices the end of threads.
void watch_thread_ends();
void watch_this_thread();

}  // namespace sonde
