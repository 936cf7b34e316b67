// Backward passes in progress, and whose nodes a thread evaluates. torch runs the nodes of a graph on the thread that
// called backward, on one thread per accelerator, and, when backward calls itself too deeply, on spare
// threads. All of them enter Engine::evaluate_function with the graph's task, which is therefore interposed;
// so is Engine::execute_with_graph_task, through which the caller of backward hands the graph over.
#pragma once

#include <cstdint>

#include "pools/origin.h"

namespace sonde {

// Async-signal-safe. The caller of the backward pass that this thread works for; null when it is its own.
const Origin* graph_origin(uint64_t* ticket);
// Async-signal-safe.
bool graph_is_open(uint64_t ticket);

void graphs_after_fork();

}  // namespace sonde
