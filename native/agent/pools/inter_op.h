// Tasks of c10::ThreadPool, torch's inter-op pool (torch.jit.fork, at::launch). Each is wrapped on its way into the queue, so
// that the thread which runs it knows who put it there.
#pragma once

#include "pools/origin.h"

namespace sonde {

// Async-signal-safe. Who launched the task that this thread runs; null when it runs none.
const Origin* inter_op_origin();

}  // namespace sonde
