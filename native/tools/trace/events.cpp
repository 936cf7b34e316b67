// Keeping side of EventParser: an Event that was read becomes a row of a Store, or a counted loss.

#include "trace/events.h"

#include "trace/categories.h"

namespace sonde::trace {

EventParser::EventParser(Trace* trace, const Limits& limits) : json(limits), trace_(*trace) {
  args_.reserve(64);
}

Status EventParser::parse(const char*& p, std::uint64_t position) {
  Event event;
  args_.clear();
  const char* at = p;
  const Status status = fields(at, &event);
  if (status != Status::kOk) return status;
  if (event.phase == 0) return Status::kBad;
  p = at;
  keep(event, position);
  return Status::kOk;
}

Family EventParser::family(std::int32_t category) {
  if (category < 0) return kOthers;
  const auto i = static_cast<std::size_t>(category);
  if (i >= family_of_.size()) family_of_.resize(i + 1, -1);
  if (family_of_[i] < 0) family_of_[i] = static_cast<std::int8_t>(family_of(trace_.strings.get(category)));
  return static_cast<Family>(family_of_[i]);
}

void EventParser::append(Store* store, const Event& event, std::int32_t name) {
  store->track.push_back(trace_.track(event.pid, event.tid));
  store->category.push_back(event.category);
  store->name.push_back(name);
  store->start_ns.push_back(event.start_ns);
  store->duration_ns.push_back(event.duration_ns);
  for (const Arg& arg : args_) {
    store->arg_key.push_back(arg.key);
    store->arg_type.push_back(arg.type);
    store->arg_value.push_back(arg.value);
  }
  store->arg_end.push_back(static_cast<std::uint32_t>(store->arg_key.size()));
}

void EventParser::keep_metadata(const Event& event) {
  ++trace_.metadata_events;
  if (event.name < 0) return;
  const std::string_view kind = trace_.strings.get(event.name);
  const bool is_thread = kind == "thread_name";
  const bool is_name = kind == "process_name";
  const bool is_label = kind == "process_labels";
  if (!is_thread && !is_name && !is_label) return;  // sort indices: order for a viewer, nothing more
  for (const Arg& arg : args_) {
    if (arg.type != ArgType::kString) continue;
    const auto track = static_cast<std::size_t>(trace_.track(event.pid, event.tid));
    auto& slot = is_thread ? trace_.track_name[track]
                           : (is_name ? trace_.track_process_name[track] : trace_.track_process_label[track]);
    slot = static_cast<std::int32_t>(arg.value);
    return;
  }
}

// One of the two events of a slice: B and E of a call, b and e of something asynchronous, which
// belongs to no thread and gets a track of its own per category.
void EventParser::keep_half(const Event& event, std::uint64_t position) {
  const bool is_call = event.phase == 'B' || event.phase == 'E';
  const Pairs::Group group = is_call
                                 ? Pairs::calls(trace_.track(event.pid, event.tid))
                                 : Pairs::asynchronous(trace_.documents, event.category, event.id);
  if (event.phase == 'E' || event.phase == 'e') return pairs_.end(group, event.start_ns, position);
  Event kept = event;
  kept.duration_ns = 0;
  if (!is_call) {
    const std::string_view category = event.category < 0 ? "" : trace_.strings.get(event.category);
    kept.tid = kWordId + trace_.strings.intern("async " + std::string(category));
  }
  const Family family_here = is_call ? family(event.category) : kOthers;
  Store* store = &trace_.stores[family_here];
  append(store, kept, event.name);
  pairs_.begin(group, event.start_ns, family_here, store->track.size() - 1, position);
}

void EventParser::keep(const Event& event, std::uint64_t position) {
  Losses& losses = trace_.losses;
  ++trace_.events;
  if (event.marks != 0) {
    if ((event.marks & kNotANumberMark) != 0) losses.add(Loss::kNotANumber, position);
    if ((event.marks & kNumberAsStringMark) != 0) losses.add(Loss::kNumberAsString, position);
    if ((event.marks & kDuplicateMark) != 0) losses.add(Loss::kDuplicateKey, position);
    if ((event.marks & kTooManyKeysMark) != 0) losses.add(Loss::kTooManyKeys, position);
  }
  if (event.name >= 0) {
    const std::uint8_t flags = trace_.strings.flags(event.name);
    if ((flags & Strings::kControl) != 0) losses.add(Loss::kControlCharacter, position);
    if ((flags & Strings::kBadUtf8) != 0) losses.add(Loss::kInvalidUtf8, position);
    if ((flags & Strings::kBadEscape) != 0) losses.add(Loss::kBadEscape, position);
  }
  if (event.phase == 'M') return keep_metadata(event);
  if (!event.has_start) return losses.add(Loss::kMissingTime, position);
  Event kept = event;
  switch (event.phase) {
    case 'X': {
      if (!event.has_duration) {
        losses.add(Loss::kMissingDuration, position);
        kept.duration_ns = 0;
      } else if (event.duration_ns < 0) {
        losses.add(Loss::kNegativeDuration, position);
        kept.duration_ns = 0;
      } else if (event.start_in_ns) {
        kept.duration_ns = event.duration_ns / 1000;  // it was scaled as if it were microseconds
      }
      return append(&trace_.stores[family(event.category)], kept, event.name);
    }
    case 'B':
    case 'E':
    case 'b':
    case 'e': return keep_half(event, position);
    case 'n':
    case 'i':
    case 'I': return append(&trace_.stores[kInstants], kept, event.name);
    case 's':
    case 't':
    case 'f':
      args_.clear();
      append(&trace_.stores[kFlows], kept, event.phase == 's' ? 0 : (event.phase == 't' ? 1 : 2));
      trace_.stores[kFlows].id.push_back(event.id);
      return;
    case 'C': return append(&trace_.stores[kCounters], kept, event.name);
    default: return losses.add(Loss::kUnsupportedPhase, position);
  }
}

}  // namespace sonde::trace
