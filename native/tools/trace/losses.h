// Everything that a trace says wrongly or not at all, counted by cause with the first place seen.
#pragma once

#include <array>
#include <cstdint>

namespace sonde::trace {

enum class Loss : int {
  kBadEvent,
  kRepairedEvent,
  kTruncatedEvent,
  kUnclosedDocument,
  kTrailingComma,
  kConcatenatedDocument,
  kDuplicateKey,
  kNotANumber,
  kNumberAsString,
  kControlCharacter,
  kInvalidUtf8,
  kBadEscape,
  kMissingTime,
  kMissingDuration,
  kNegativeDuration,
  kUnsupportedPhase,
  kUnpaired,
  kNotAnEvent,
  kBadMetadata,
  kDroppedMetadata,
  kTooManyKeys,
  kSkippedBytes,
  kTrailingGarbage,
  kGzipTruncated,
  kGzipCorrupt,
  kGzipChecksum,
  kGzipTrailingGarbage,
  kCount
};

struct LossWord {
  const char* cause;
  const char* unit;
  const char* meaning;
};

// In the order of Loss.
inline constexpr LossWord kLossWords[] = {
    {"bad_event", "events", "an event that is no JSON, even after repair, was left out"},
    {"repaired_event", "events", "an unescaped quote was repaired"},
    {"truncated_event", "events", "the file ends inside an event"},
    {"unclosed_document", "files", "the file ends before the trace is closed: its writer was stopped"},
    {"trailing_comma", "events", "a comma stands where an event should"},
    {"concatenated_document", "files", "another trace follows the first in the same file"},
    {"duplicate_key", "events", "a key occurs twice; the last one counts"},
    {"not_a_number", "events", "a bare nan or inf stands for a number"},
    {"number_as_string", "events", "a time is written as a string"},
    {"control_character", "events", "a name has raw control characters"},
    {"invalid_utf8", "events", "a name is not UTF-8; the bad bytes read as U+FFFD"},
    {"bad_escape", "events", "a name has a backslash that escapes nothing; it is kept"},
    {"missing_time", "events", "an event without a usable time was left out"},
    {"missing_duration", "events", "an event has no usable duration; 0 is taken"},
    {"negative_duration", "events", "an event ends before it starts; 0 is taken"},
    {"unsupported_phase", "events", "an event of a phase that no table holds (object, sample, dump) was left out"},
    {"unpaired", "events", "the begin or end of a slice has no partner; a begin is kept without a length"},
    {"not_an_event", "events", "something that is no object stands among the events"},
    {"bad_metadata", "events", "metadata that is no JSON was left out"},
    {"dropped_metadata", "events", "metadata beyond the limit was left out"},
    {"too_many_keys", "events", "an argument was left out: more than 60000 distinct keys"},
    {"skipped_bytes", "bytes", "bytes passed over while looking for the next event"},
    {"trailing_garbage", "bytes", "bytes after the trace that are no trace"},
    {"gzip_truncated", "files", "the gzip stream is cut short; what came before is read"},
    {"gzip_corrupt", "files", "the gzip stream is damaged; what came before is read"},
    {"gzip_checksum", "files", "the gzip checksum does not match the data"},
    {"gzip_trailing_garbage", "files", "bytes that are no gzip follow the gzip stream"},
};
static_assert(sizeof kLossWords / sizeof kLossWords[0] == static_cast<std::size_t>(Loss::kCount));

struct Losses {
  std::array<std::uint64_t, static_cast<std::size_t>(Loss::kCount)> count{};
  std::array<std::uint64_t, static_cast<std::size_t>(Loss::kCount)> first_byte{};

  void add(Loss loss, std::uint64_t byte, std::uint64_t n = 1) {
    const auto i = static_cast<std::size_t>(loss);
    if (n == 0) return;
    if (count[i] == 0) first_byte[i] = byte;
    count[i] += n;
  }
};

}  // namespace sonde::trace
