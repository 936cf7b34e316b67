// Walking the interpreter's frames. Everything here is async-signal-safe: guarded loads only.
#include "python/frames.h"

#include "common/guarded_memory.h"
#include "python/code_table.h"
#include "python/interpreter.h"

namespace sonde {

using namespace python;

namespace {

constexpr uint64_t kTagBits = 7;           // 3.14 keeps reference-count tags in the low bits of references
constexpr unsigned kMaxShims = 3;          // shims without a frame between them: a broken list beyond this
constexpr int64_t kMaxInstruction = 1 << 28;

template <class T>
T load(uint64_t base, int16_t offset, uint32_t* fault) {
  return guarded_load<T>(base + static_cast<uint64_t>(offset), fault);
}

bool is_shim(const Layout& layout, uint64_t frame, uint32_t* fault) {
  return layout.owner_c_stack != kAbsent && load<int8_t>(frame, layout.frame_owner, fault) >= layout.owner_c_stack;
}

// Where a walk starts. In 3.11 and 3.12 the evaluation function links its cframe in before it fills
// it, so for a few instructions the newest frame is whatever lay on the C stack. What it must lead
// to is known, though: the newest frame of the call outside. `outside` is that frame.
struct Start {
  uint64_t newest = 0;
  uint64_t outside = 0;
  bool checked = false;  // `outside` is known
};

Start start_of(const Layout& layout, uint64_t thread, uint32_t* fault) {
  Start start;
  if (layout.cframe_frame == kAbsent) {
    start.newest = load<uint64_t>(thread, layout.thread_frame, fault);
    return start;
  }
  const auto cframe = load<uint64_t>(thread, layout.thread_cframe, fault);
  if (*fault || cframe == 0) return start;
  start.newest = load<uint64_t>(cframe, layout.cframe_frame, fault);
  const auto previous = load<uint64_t>(cframe, layout.cframe_previous, fault);
  if (*fault || previous == 0) return start;
  start.outside = load<uint64_t>(previous, layout.cframe_frame, fault);
  start.checked = *fault == 0;
  return start;
}

int32_t instruction_offset(const Layout& layout, uint64_t frame, uint64_t code, uint32_t* fault) {
  if (layout.position == Position::UnitIndex) {
    const auto unit = load<int32_t>(frame, layout.frame_position, fault);
    return unit < 0 || unit > kMaxInstruction ? -1 : unit * 2;
  }
  const auto pointer = load<uint64_t>(frame, layout.frame_position, fault);
  const auto offset = static_cast<int64_t>(pointer - code - static_cast<uint64_t>(layout.code_instructions));
  // Before its first instruction a frame points in front of its code.
  return offset < 0 || offset > kMaxInstruction ? -1 : static_cast<int32_t>(offset);
}

uint64_t first_local(const Layout& layout, uint64_t frame, uint32_t* fault) {
  return load<uint64_t>(frame, layout.frame_locals, fault) & ~kTagBits;
}

// Local 0, looked up in its cell when an inner function captures it (as in Module._call_impl).
uint64_t module_pointer(const Interpreter& python, uint64_t local) {
  uint32_t fault = 0;
  const Layout& layout = python.layout;
  if (local == 0) return 0;
  if (load<uint64_t>(local, layout.object_type, &fault) == python.cell_type && !fault) {
    local = load<uint64_t>(local, layout.cell_contents, &fault) & ~kTagBits;
  }
  return fault ? 0 : local;
}

// Reads what the frame itself says into *to, with the code's address in `self` for now. False when it is not a frame.
bool read_frame(const Interpreter& python, uint64_t frame, PythonFrame* to) {
  const Layout& layout = python.layout;
  uint32_t fault = 0;
  const uint64_t code = load<uint64_t>(frame, layout.frame_code, &fault) & ~kTagBits;
  if (fault || load<uint64_t>(code, layout.object_type, &fault) != python.code_type) return false;
  prefetch_code(layout, code);
  to->place = frame;
  to->self = code;
  to->instruction = instruction_offset(layout, frame, code, &fault);
  to->entry = layout.every_frame_enters ||
              (layout.frame_is_entry != kAbsent && load<uint8_t>(frame, layout.frame_is_entry, &fault) != 0);
  return fault == 0;
}

// Turns code addresses into numbers. Frames of a sample are milliseconds old to the caches: what costs are
// misses, half a dozen for each code. So all are asked for at once before the first is needed.
void number_codes(const Interpreter& python, PythonFrame* frames, size_t count) {
  const Layout& layout = python.layout;
  for (size_t i = 0; i < count; ++i) prefetch_line_table(layout, frames[i].self);
  for (size_t i = 0; i < count; ++i) prefetch_table_sample(layout, frames[i].self);
  for (size_t i = 0; i < count; ++i) {
    const CodeRef ref = code_lookup(layout, frames[i].self);
    uint32_t fault = 0;
    const uint64_t local = ref.takes_module ? first_local(layout, frames[i].place, &fault) : 0;
    frames[i].code = ref.number;
    frames[i].self = fault ? 0 : module_pointer(python, local);
  }
}

// `outside`, when given, must follow the first entry; *consistent is cleared and the walk given
// up when it does not, or when no frame of the innermost call can be read.
PythonWalk walk_from(const Interpreter& python, uint64_t frame, const uint64_t* outside, bool* consistent,
                     PythonFrame* out, size_t capacity) {
  const Layout& layout = python.layout;
  PythonWalk walk;
  uint32_t fault = 0;
  unsigned shims = 0;
  while (frame != 0 && !fault) {
    bool innermost_ends = false;
    if (is_shim(layout, frame, &fault)) {
      // The shim belongs to the evaluation call that runs the frame before it.
      if (walk.count > 0 && shims == 0) out[walk.count - 1].entry = true;
      innermost_ends = true;
      if (++shims > kMaxShims) fault = 1;
    } else {
      if (walk.count == capacity) {
        walk.truncated = true;
        return walk;
      }
      shims = 0;
      if (!read_frame(python, frame, &out[walk.count])) break;
      innermost_ends = layout.owner_c_stack == kAbsent && out[walk.count].entry;
      ++walk.count;
    }
    const auto previous = load<uint64_t>(frame, layout.frame_previous, &fault);
    if (previous == frame) fault = 1;
    frame = previous;
    if (outside && innermost_ends) {
      if (frame != *outside) break;
      outside = nullptr;
    }
  }
  walk.failed = frame != 0 || fault;
  if (outside && walk.failed) *consistent = false;
  return walk;
}

}  // namespace

void* python_thread_state() {
  const Interpreter* python = interpreter();
  return python ? python->this_thread_state() : nullptr;
}

PythonWalk python_walk(void* thread_state, PythonFrame* out, size_t capacity) {
  const Interpreter* python = interpreter();
  if (python == nullptr || thread_state == nullptr) return {};
  uint32_t fault = 0;
  const Start start = start_of(python->layout, reinterpret_cast<uint64_t>(thread_state), &fault);
  if (fault) return {.failed = true};
  bool consistent = true;
  PythonWalk walk = walk_from(*python, start.newest, start.checked ? &start.outside : nullptr, &consistent,
                              out, capacity);
  if (!consistent) walk = walk_from(*python, start.outside, nullptr, &consistent, out, capacity);
  number_codes(*python, out, walk.count);
  return walk;
}

uint32_t python_places(void* thread_state, PythonPlace* out, uint32_t capacity, bool* truncated) {
  *truncated = false;
  const Interpreter* python = interpreter();
  if (python == nullptr || thread_state == nullptr) return 0;
  const Layout& layout = python->layout;
  uint32_t fault = 0, count = 0, steps = 0;
  uint64_t frame = start_of(layout, reinterpret_cast<uint64_t>(thread_state), &fault).newest;
  for (; frame != 0 && !fault && steps < 2 * capacity; ++steps) {
    if (is_shim(layout, frame, &fault)) {
      if (count > 0) out[count - 1].entry = true;
    } else {
      if (count == capacity) {
        *truncated = true;
        break;
      }
      PythonPlace& place = out[count++];
      place.code = load<uint64_t>(frame, layout.frame_code, &fault) & ~kTagBits;
      place.local = first_local(layout, frame, &fault);
      place.instruction = instruction_offset(layout, frame, place.code, &fault);
      place.entry = layout.every_frame_enters || (layout.frame_is_entry != kAbsent &&
                                                  load<uint8_t>(frame, layout.frame_is_entry, &fault) != 0);
    }
    frame = load<uint64_t>(frame, layout.frame_previous, &fault);
  }
  return fault ? 0 : count;
}

PythonWalk python_name_places(const PythonPlace* places, uint32_t count, PythonFrame* out, size_t capacity) {
  PythonWalk walk;
  const Interpreter* python = interpreter();
  if (python == nullptr) return walk;
  const Layout& layout = python->layout;
  for (uint32_t i = 0; i < count && i < capacity; ++i) {
    uint32_t fault = 0;
    const uint64_t code = places[i].code;
    if (load<uint64_t>(code, layout.object_type, &fault) != python->code_type || fault) return {.failed = true};
    const CodeRef ref = code_lookup(layout, code);
    const uint64_t self = ref.takes_module ? module_pointer(*python, places[i].local) : 0;
    out[i] = {ref.number, places[i].instruction, self, 0, places[i].entry};
    ++walk.count;
  }
  return walk;
}

Anchor python_anchor(void* thread_state, const StackBounds& stack) {
  const Interpreter* python = interpreter();
  if (python == nullptr || thread_state == nullptr) return {};
  const Layout& layout = python->layout;
  const auto thread = reinterpret_cast<uint64_t>(thread_state);
  uint32_t fault = 0;
  uint64_t address = 0;
  if (layout.thread_cframe != kAbsent) {
    // A local of the evaluation function. Outside any call it is a member of the thread state instead.
    address = load<uint64_t>(thread, layout.thread_cframe, &fault);
  } else {
    // The shim of the innermost evaluation call is a local of that call.
    address = start_of(layout, thread, &fault).newest;
    for (unsigned steps = 0; address != 0 && !fault && !is_shim(layout, address, &fault); ++steps) {
      if (steps > 4096) return {};
      address = load<uint64_t>(address, layout.frame_previous, &fault);
    }
  }
  if (fault || address < stack.low || address >= stack.high) return {};
  return {address};
}

}  // namespace sonde
