// Inflating on a thread of its own, a few chunks ahead of the parser: on a machine with two free
// CPUs a gzip'ed trace is read as fast as the slower of the two. Memory: four chunks, about 1 MB.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/inflate.h"

namespace sonde::trace {

class InflateAhead {
 public:
  explicit InflateAhead(Inflater* inflater);
  ~InflateAhead();
  InflateAhead(const InflateAhead&) = delete;
  InflateAhead& operator=(const InflateAhead&) = delete;

  // As Inflater::next; `consumed` gets the compressed bytes read by then. Rethrows what the thread
  // threw. After it returned 0 the thread has ended and the inflater may be asked.
  std::size_t next(const char** data, std::uint64_t* consumed);

 private:
  struct Chunk {
    std::vector<char> bytes;
    std::uint64_t consumed = 0;
  };
  static constexpr std::size_t kAhead = 4;

  void run();

  Inflater& inflater_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> ready_;
  Chunk current_;
  bool ended_ = false;    // by the thread: nothing more comes
  bool stopped_ = false;  // by the reader: nothing more is wanted
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace sonde::trace
