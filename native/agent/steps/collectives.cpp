// In front of c10d's gloo backend: what each collective is, when it was queued, when it ran, and who waited for it.
//
// Some records of 100 ns each (steps/event_log.h); `a` is always the address of the collective's work:
//   Made     b = OpType | scalar type << 8 | number in its group << 16; of send and receive the peer's rank instead
//   Size     b = bytes of what goes in (receive: comes out)
//   Queued   b = address of the group, by the thread that asked
//   From     b = number of the Python code that asked (steps/asked_from.h)
//   Ran      by gloo's thread; end = start until it has ended, so of a job that hangs it says what runs. It has ended
//            before gloo tells the threads that wait for it: on a busy machine they run first, and this thread later
//   Waited   by the thread that waited; for send and receive, which no thread runs, this is their end
// The kind is what the program asked for: gloo makes a reduce_scatter of an all_reduce.
// Names of groups come from the Python observer (frameworks/torch/inside/groups.py), by the group's address.
#include <cstring>
#include <optional>

#include "common/clock.h"
#include "steps/asked_from.h"
#include "steps/event_log.h"
#include "steps/interpose.h"
#include "steps/unprofiled.h"

namespace {

// Static room for thread-local variables is scarce: `sonde attach` finds what the program's libraries left of it.
thread_local const void* t_noted __attribute__((tls_model("initial-exec"))) = nullptr;  // of calls that nobody asks about
thread_local const void* t_running __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local sonde::EventRecord* t_ran __attribute__((tls_model("initial-exec"))) = nullptr;  // of `t_running`
thread_local const void* t_waiting __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local const void* t_scattering __attribute__((tls_model("initial-exec"))) = nullptr;

constexpr int kAllReduce = 1, kReduceScatter = 9, kSend = 12, kReceive = 13;  // c10d::OpType

void note(sonde::Event code, const void* work, int64_t b) {
  const uint64_t now = sonde::mono_ns();
  sonde::EventRecord* record = sonde::write_event(code, now, now, reinterpret_cast<int64_t>(work));
  if (record) record->b = b;
}

void note_from(const void* work) {
  const int64_t place = sonde::asked_from();
  if (place) note(sonde::Event::CollectiveFrom, work, place);
}

// std::vector<at::Tensor>; a tensor is one pointer.
struct Tensors {
  void* const* begin;
  void* const* end;
  void* const* reserved;
};
struct OptionalTensors {
  Tensors tensors;
  bool given;
};

// Sizes by torch's stable C interface (since 2.3), so that no layout of its classes is needed.
struct Content {
  int64_t bytes = -1;
  int type = 0xff;
};

Content content_of(const Tensors& tensors, void* caller) {
  using Number = int32_t (*)(const void*, int64_t*);
  using Type = int32_t (*)(const void*, int32_t*);
  using Width = size_t (*)(int32_t);
  static constinit sonde::RealFunction number{"aoti_torch_get_numel"};
  static constinit sonde::RealFunction type{"aoti_torch_get_dtype"};
  static constinit sonde::RealFunction width{"aoti_torch_dtype_element_size"};
  const auto numel = reinterpret_cast<Number>(number.for_caller(caller));
  const auto type_of = reinterpret_cast<Type>(type.for_caller(caller));
  const auto width_of = reinterpret_cast<Width>(width.for_caller(caller));
  Content found;
  if (!numel || !type_of || !width_of) return found;
  found.bytes = 0;
  for (void* const* tensor = tensors.begin; tensor != tensors.end; tensor++) {
    int64_t count = 0;
    int32_t scalar = 0;
    if (numel(tensor, &count) != 0 || type_of(tensor, &scalar) != 0) return {};
    found.bytes += count * static_cast<int64_t>(width_of(scalar));
    found.type = scalar & 0xff;
  }
  return found;
}

void note_made(const void* work, int operation, int64_t number, const Content& content) {
  note(sonde::Event::CollectiveMade, work, (operation & 0xff) | content.type << 8 | number << 16);
  note(sonde::Event::CollectiveSize, work, content.bytes);
}

}  // namespace

namespace sonde {

class CollectiveMade {
 public:
  CollectiveMade(const void* work, int operation, uint64_t number, const void* inputs, void* caller)
      : unprofiled_(caller) {
    const auto* given = static_cast<const OptionalTensors*>(inputs);
    const Content content = given->given ? content_of(given->tensors, caller) : Content{0, 0xff};
    const bool scatters = operation == kAllReduce && t_scattering;
    note_made(work, scatters ? kReduceScatter : operation, static_cast<int64_t>(number), content);
  }

 private:
  const Unprofiled unprofiled_;
};

// Sends and receives have no function of their own where they are made; other backends end their records at once.
class WorkMade {
 public:
  WorkMade(const char* title, void* caller) {
    if (title && !std::strncmp(title, "gloo:", 5)) unprofiled_.emplace(caller);
  }
  ~WorkMade() {}

 private:
  std::optional<Unprofiled> unprofiled_;
};

// While it lives, an all_reduce is part of a reduce_scatter.
class Scattering {
 public:
  Scattering() {}
  ~Scattering() {}
};

class CollectiveQueued {
 public:
  CollectiveQueued(const void* work, const void* group) {
    note(Event::CollectiveQueued, work, reinterpret_cast<int64_t>(group));
    note_from(work);
  }
  ~CollectiveQueued() {}
};

class CollectiveRun {
 public:
  explicit CollectiveRun(const void* work) {
    const uint64_t now = mono_ns();
    t_ran = write_event(Event::CollectiveRan, now, now, reinterpret_cast<int64_t>(work));
  }
  ~CollectiveRun() { end(); }  // it failed, or this torch does not call `finishWorkGloo` by name
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  static void end() {
    if (t_ran) t_ran->end_ns = static_cast<int64_t>(mono_ns());
    t_ran = nullptr;
  }
};

class CollectiveFinish {
 public:
  CollectiveFinish() { CollectiveRun::end(); }
  ~CollectiveFinish() {}
};

class CollectiveWait {
 public:
  CollectiveWait(bool outermost, const void* work) : work_(work), start_ns_(outermost ? mono_ns() : 0) {}
  ~CollectiveWait() {
    if (start_ns_) write_event(Event::CollectiveWaited, start_ns_, mono_ns(), reinterpret_cast<int64_t>(work_));
  }
  CollectiveWait(const CollectiveWait&) = delete;
  CollectiveWait& operator=(const CollectiveWait&) = delete;

 private:
  const void* const work_;
  const uint64_t start_ns_;
};

// A send or receive; `result` is where its work comes back.
class Message {
 public:
  Message(int operation, void* const* result, const void* group, const void* tensors, int peer, void* caller)
      : operation_(operation), peer_(peer), result_(result), group_(group),
        content_(content_of(*static_cast<const Tensors*>(tensors), caller)) {}
  ~Message() {
    note_made(*result_, operation_, peer_, content_);
    note(Event::CollectiveQueued, *result_, reinterpret_cast<int64_t>(group_));
    note_from(*result_);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

 private:
  const int operation_, peer_;
  void* const* const result_;
  const void* const group_;
  const Content content_;
};

}  // namespace sonde

// A class with a destructor comes by its address, by value as by reference.
#define SONDE_MADE(name, constructor)                                                                           \
  SONDE_IN_FRONT_OF(sonde_collective_made_##name,                                                               \
                    "_ZN4c10d16ProcessGroupGloo9AsyncWork" constructor                                          \
                    "ESt10shared_ptrIN4gloo7ContextEESt6vectorIS6_IN2at6TensorESaIS8_EESaISA_EENS_6OpTypeEm"     \
                    "NSt6chrono8durationIlSt5ratioILl1ELl1000EEEEPKcRKSt8optionalISA_E",                        \
                    void,                                                                                       \
                    (void* self, void* context, void* outputs, unsigned char operation, uint64_t number,        \
                     long milliseconds, const char* title, const void* inputs),                                 \
                    (self, context, outputs, operation, number, milliseconds, title, inputs), t_noted,           \
                    sonde::CollectiveMade made(self, operation, number, inputs, __builtin_return_address(0)))
SONDE_MADE(whole, "C1")
SONDE_MADE(base, "C2")

SONDE_IN_FRONT_OF(sonde_collective_run,
                  "_ZN4c10d16ProcessGroupGloo9AsyncWork7executeERKN3c1013intrusive_ptrIS1_NS2_6detail34intrusive_target_"
                  "default_null_typeIS1_EEEE",
                  void, (const void* const* self), (self), t_running, sonde::CollectiveRun run(*self))
SONDE_IN_FRONT_OF(sonde_collective_finish, "_ZN4c10d16ProcessGroupGloo9AsyncWork14finishWorkGlooEv", void, (void* self),
                  (self), t_noted, sonde::CollectiveFinish finish)
SONDE_IN_FRONT_OF(sonde_collective_queued,
                  "_ZN4c10d16ProcessGroupGloo7enqueueEN3c1013intrusive_ptrINS0_9AsyncWorkENS1_6detail34intrusive_target_"
                  "default_null_typeIS3_EEEE",
                  void, (void* self, const void* const* work), (self, work), t_noted,
                  sonde::CollectiveQueued queued(*work, self))

// c10d::Work::Work(int, OpType, const char*, const std::optional<std::vector<at::Tensor>>&), of every kind of work.
#define SONDE_WORK(name, constructor)                                                                            \
  SONDE_IN_FRONT_OF(sonde_work_##name,                                                                           \
                    "_ZN4c10d4Work" constructor "EiNS_6OpTypeEPKcRKSt8optionalISt6vectorIN2at6TensorESaIS7_EEE", \
                    void, (void* self, int rank, unsigned char operation, const char* title, const void* inputs), \
                    (self, rank, operation, title, inputs), t_noted,                                             \
                    sonde::WorkMade made(title, __builtin_return_address(0)))
SONDE_WORK(whole, "C1")
SONDE_WORK(base, "C2")

// They return a smart pointer, so its place comes first and goes back.
#define SONDE_MESSAGE(name, operation)                                                                          \
  SONDE_IN_FRONT_OF(sonde_message_##name,                                                                       \
                    "_ZN4c10d16ProcessGroupGloo4" #name "ERSt6vectorIN2at6TensorESaIS3_EEii", void*,             \
                    (void* const* result, void* self, void* tensors, int peer, int tag),                        \
                    (result, self, tensors, peer, tag), t_noted,                                              \
                    sonde::Message message(operation, result, self, tensors, peer, __builtin_return_address(0)))
SONDE_MESSAGE(send, kSend)
SONDE_MESSAGE(recv, kReceive)

#define SONDE_SCATTERS(name, mangled)                                                                           \
  SONDE_IN_FRONT_OF(sonde_scatters_##name, "_ZN4c10d16ProcessGroupGloo" mangled "RKNS_20ReduceScatterOptionsE",  \
                    void*, (void* const* result, void* self, void* outputs, void* inputs, const void* options), \
                    (result, self, outputs, inputs, options), t_scattering, sonde::Scattering scattering)
SONDE_SCATTERS(base, "20_reduce_scatter_baseERN2at6TensorES3_")
SONDE_SCATTERS(lists, "14reduce_scatterERSt6vectorIN2at6TensorESaIS3_EERS1_IS5_SaIS5_EE")
SONDE_SCATTERS(coalesced, "31reduce_scatter_tensor_coalescedERSt6vectorIN2at6TensorESaIS3_EES6_")

#define SONDE_WAIT(name, mangled)                                                                               \
  SONDE_IN_FRONT_OF(sonde_wait_##name, "_ZN4c10d" mangled "4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE", bool, \
                    (void* self, long milliseconds), (self, milliseconds), t_waiting,                           \
                    sonde::CollectiveWait wait(!t_waiting, self))
SONDE_WAIT(work, "4Work")
SONDE_WAIT(send, "16ProcessGroupGloo8SendWork")
SONDE_WAIT(receive, "16ProcessGroupGloo8RecvWork")
