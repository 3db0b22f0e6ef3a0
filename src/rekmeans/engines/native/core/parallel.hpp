// Work on several threads that end with the call.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace rekmeans {

constexpr size_t PARALLEL_FROM = 1 << 16;  // operations below which starting a thread costs more than it saves

inline size_t threads_for(size_t operations, size_t threads) { return operations < PARALLEL_FROM ? 1 : threads; }

// Run work(thread, i) for i in [0, count) on a number of threads, started here and joined here: nothing outlives the
// call, so a fork finds no thread of ours.
template <class Work>
void parallel(size_t threads, size_t count, const Work& work) {
  threads = threads < count ? threads : count;
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) work(size_t(0), i);
    return;
  }
  std::atomic<size_t> next{0};
  std::atomic_flag failed;
  std::exception_ptr error;  // of the first thread that failed
  auto loop = [&](size_t thread) {
    try {
      for (size_t i; (i = next.fetch_add(1)) < count;) work(thread, i);
    } catch (...) {
      next = count;
      if (!failed.test_and_set()) error = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (size_t t = 1; t < threads; ++t) others.emplace_back(loop, t);
  } catch (const std::system_error&) {
    // the system starts no more threads: those that run share the work
  }
  loop(0);
  for (auto& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace rekmeans
