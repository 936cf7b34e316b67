// A whole trace in memory: what the parser fills and what the C interface hands out.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/columns.h"
#include "trace/losses.h"
#include "trace/strings.h"

namespace sonde::trace {

struct Limits {
  std::uint64_t value_bytes = 64ULL << 20;      // longest event or metadata value
  std::uint64_t metadata_bytes = 256ULL << 20;  // all metadata together
  std::uint64_t metadata_entries = 65536;
  std::uint64_t inflate_ratio = 250;  // plain bytes per gzip byte, beyond the first 256 MB
  int depth = 256;
};

constexpr std::size_t kMaxKeys = 60000;

// A process or thread id is a number or, in a few places, a word: kWordId + string code.
constexpr std::int64_t kWordId = INT64_MIN;

struct Metadata {
  std::string key;
  std::string value;  // JSON text, or the decoded string when is_string
  bool is_string = false;
  int document = 0;
};

struct Trace {
  explicit Trace(std::uint64_t seed) : strings(seed), keys(seed) {}

  Store stores[kFamilies];
  Strings strings;
  Strings keys;  // argument keys
  Losses losses;
  std::vector<Metadata> metadata;
  std::uint64_t metadata_bytes = 0;
  int documents = 0;
  bool has_events = false;  // a traceEvents array or a bare array was there
  std::uint64_t events = 0;
  std::uint64_t metadata_events = 0;
  std::uint64_t plain_bytes = 0;
  std::uint64_t file_bytes = 0;
  bool compressed = false;

  // A track is a (document, process id, thread id); names come from metadata events, -1 when none.
  Array<std::int64_t> track_pid;
  Array<std::int64_t> track_tid;
  Array<std::int32_t> track_document;
  Array<std::int32_t> track_name;
  Array<std::int32_t> track_process_name;
  Array<std::int32_t> track_process_label;

  std::int32_t track(std::int64_t pid, std::int64_t tid);

 private:
  struct TrackKey {
    std::int64_t pid;
    std::int64_t tid;
    std::int32_t document;
    bool operator==(const TrackKey&) const = default;
  };
  struct TrackHash {
    std::size_t operator()(const TrackKey& key) const {
      std::uint64_t h = static_cast<std::uint64_t>(key.pid) * 0x9E3779B97F4A7C15ULL;
      h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(key.tid)) * 0xBF58476D1CE4E5B9ULL;
      return static_cast<std::size_t>(h ^ (h >> 32) ^ static_cast<std::uint64_t>(key.document));
    }
  };
  std::unordered_map<TrackKey, std::int32_t, TrackHash> tracks_;
  TrackKey last_key_{0, 0, -1};
  std::int32_t last_track_ = -1;
};

inline std::int32_t Trace::track(std::int64_t pid, std::int64_t tid) {
  const TrackKey key{pid, tid, documents};
  if (key == last_key_) return last_track_;
  const auto [found, is_new] = tracks_.try_emplace(key, static_cast<std::int32_t>(track_pid.size()));
  if (is_new) {
    track_pid.push_back(pid);
    track_tid.push_back(tid);
    track_document.push_back(documents);
    track_name.push_back(-1);
    track_process_name.push_back(-1);
    track_process_label.push_back(-1);
  }
  last_key_ = key;
  last_track_ = found->second;
  return last_track_;
}

}  // namespace sonde::trace
