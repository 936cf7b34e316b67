// In front of torch's optimizers and samplers: what ends a step, and what begins an epoch.
//
// An optimizer that the program defines itself is not here: its steps are told from backward passes afterwards.
#include "steps/interpose.h"
#include "steps/phases.h"

namespace {

thread_local const void* t_optimizer __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local const void* t_sampler __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

namespace sonde {

struct OptionalSize {  // std::optional<size_t>; not in the unnamed namespace, which would make what takes it local
  unsigned long value;
  bool has_value;
};

}  // namespace sonde

#define SONDE_STEP(name, mangled)                                                                              \
  SONDE_IN_FRONT_OF(sonde_step_##name, "_ZN5torch5optim" mangled "4stepESt8functionIFN2at6TensorEvEE",           \
                    sonde::Returned, (void* self, void* closure), (self, closure), t_optimizer,                \
                    sonde::TrainingPhase phase(sonde::Event::Optimizer, !t_optimizer, self))
SONDE_STEP(sgd, "3SGD")
SONDE_STEP(adam, "4Adam")
SONDE_STEP(adamw, "5AdamW")
SONDE_STEP(lbfgs, "5LBFGS")
SONDE_STEP(adagrad, "7Adagrad")
SONDE_STEP(rmsprop, "7RMSprop")

SONDE_IN_FRONT_OF(sonde_zero_grad, "_ZN5torch5optim9Optimizer9zero_gradEb", void, (void* self, bool to_none),
                  (self, to_none), t_optimizer, sonde::TrainingPhase phase(sonde::Event::ZeroGrad, !t_optimizer, self))

// DataLoader::begin() resets its sampler, and nothing else does.
#define SONDE_RESET(name, mangled)                                                                             \
  SONDE_IN_FRONT_OF(sonde_reset_##name, "_ZN5torch4data8samplers" mangled "5resetESt8optionalImE", void,        \
                    (void* self, sonde::OptionalSize size), (self, size), t_sampler,                                  \
                    sonde::TrainingPhase phase(sonde::Event::LoaderStart, !t_sampler, self))
SONDE_RESET(random, "13RandomSampler")
SONDE_RESET(sequential, "17SequentialSampler")
SONDE_RESET(stream, "13StreamSampler")
SONDE_RESET(distributed_random, "24DistributedRandomSampler")
SONDE_RESET(distributed_sequential, "28DistributedSequentialSampler")
