#include "trace/inflate_ahead.h"

#include <utility>

namespace sonde::trace {

InflateAhead::InflateAhead(Inflater* inflater) : inflater_(*inflater), thread_([this] { run(); }) {}

InflateAhead::~InflateAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void InflateAhead::run() {
  try {
    for (;;) {
      const char* data = nullptr;
      const std::size_t size = inflater_.next(&data);
      Chunk chunk{{data, data + size}, inflater_.consumed()};
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || ready_.size() < kAhead; });
      if (stopped_ || size == 0) break;
      ready_.push_back(std::move(chunk));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failure_ = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

std::size_t InflateAhead::next(const char** data, std::uint64_t* consumed) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !ready_.empty(); });
  if (ready_.empty()) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return 0;
  }
  current_ = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  *data = current_.bytes.data();
  *consumed = current_.consumed;
  return current_.bytes.size();
}

}  // namespace sonde::trace
