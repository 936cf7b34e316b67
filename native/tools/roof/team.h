// A few threads that start together, again and again.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace sonde {

// Runs `work(thread)` on `threads` threads `samples` times; seconds[i] is the
// time from the release of all threads to the end of the last one. `prepare`
// runs once per thread before the first sample, on that thread.
inline void RunTeam(int threads, int samples, double* seconds, const std::function<void(int)>& prepare,
                    const std::function<void(int)>& work) {
  using Clock = std::chrono::steady_clock;
  std::atomic<int> arrived{0};
  std::atomic<int> round{-1};
  std::atomic<int> done{0};
  std::vector<Clock::time_point> ends(static_cast<size_t>(threads));
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      prepare(t);
      arrived.fetch_add(1);
      for (int i = 0; i < samples; ++i) {
        while (round.load(std::memory_order_acquire) < i) std::this_thread::yield();
        work(t);
        ends[static_cast<size_t>(t)] = Clock::now();
        done.fetch_add(1, std::memory_order_release);
      }
    });
  }
  while (arrived.load() < threads) std::this_thread::yield();
  for (int i = 0; i < samples; ++i) {
    done.store(0);
    const auto start = Clock::now();
    round.store(i, std::memory_order_release);
    while (done.load(std::memory_order_acquire) < threads) {
      // The caller must not take a core from the team it times.
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    seconds[i] = std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) - start).count();
  }
  for (std::thread& thread : team) thread.join();
}

}  // namespace sonde
