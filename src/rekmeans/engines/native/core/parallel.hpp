// Work on several threads that end with the call.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rekmeans {

constexpr size_t MOST_THREADS = 256;  // more only cost memory
constexpr size_t PARALLEL_FROM =
    1 << 16;  // operations below which starting a thread costs more than it saves

inline size_t threads_for(size_t operations, size_t threads) {
  return operations < PARALLEL_FROM ? 1 : threads;
}

// Items [0, count) handed out one by one to the threads that ask; the first exception of any of
// them.
template <class Work>
struct Items {
  Items(size_t count_, const Work& work_) : count(count_), work(work_) {}

  void run(size_t thread) {
    try {
      for (size_t i; (i = next.fetch_add(1)) < count;) work(thread, i);
    } catch (...) {
      next = count;
      if (!failed.test_and_set()) error = std::current_exception();
    }
  }

  const size_t count;
  const Work& work;
  std::atomic<size_t> next{0};
  std::atomic_flag failed;
  std::exception_ptr error;
};

// Threads that wait for one piece of work after the other, for calls with many short ones: they are
// started and joined where the crew is made, so nothing outlives the call and a fork finds no
// thread of ours. `parallel` uses the crew of the thread that calls it.
class Crew {
 public:
  explicit Crew(size_t threads) : outer(current()) {
    others.reserve(threads);
    try {
      for (size_t t = 1; t < threads; ++t) others.emplace_back([this, t] { wait_for_work(t); });
    } catch (const std::exception&) {
      // std::system_error or std::bad_alloc: no more threads can start, so those that run share the
      // work. Rethrowing it would end the process, because threads that run are not joined when a
      // constructor fails.
    }
    current() = this;
  }
  Crew(const Crew&) = delete;
  ~Crew() {
    current() = outer;
    start(nullptr, nullptr);
    for (auto& other : others) other.join();
  }

  // The crew of this thread, null where there is none.
  static Crew*& current() {
    static thread_local Crew* crew = nullptr;
    return crew;
  }

  size_t size() const { return others.size() + 1; }

  template <class Each>
  void run(const Each& each) {
    Crew* const crew =
        std::exchange(current(), nullptr);  // what the work itself runs in parallel starts its own
    busy.store(others.size());
    start([](const void* what, size_t thread) { (*static_cast<const Each*>(what))(thread); },
          &each);
    each(0);
    for (size_t spins = 0; busy.load(std::memory_order_acquire); ++spins)
      if (spins > SPINS) std::this_thread::yield();
    current() = crew;
  }

 private:
  using Call = void (*)(const void*, size_t);
  static constexpr size_t SPINS =
      2000;  // a few microseconds: the next piece of work often comes at once

  void start(Call call_, const void* what_) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      call = call_, what = what_;
      round.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
  }

  void wait_for_work(size_t thread) {
    for (size_t done = 0;;) {
      for (size_t spins = 0; round.load(std::memory_order_acquire) == done && spins < SPINS;
           ++spins) {
      }
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return round.load(std::memory_order_relaxed) != done; });
      done = round.load(std::memory_order_relaxed);
      const Call now = call;
      const void* on = what;
      lock.unlock();
      if (!now) return;
      now(on, thread);
      busy.fetch_sub(1, std::memory_order_release);
    }
  }

  Crew* outer;
  std::vector<std::thread> others;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<size_t> round{0}, busy{0};
  Call call = nullptr;
  const void* what = nullptr;
};

// Run work(thread, i) for i in [0, count) on a number of threads: those of the crew, or some that
// are started here and joined here.
template <class Work>
void parallel(size_t threads, size_t count, const Work& work) {
  threads = threads < count ? threads : count;
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) work(size_t(0), i);
    return;
  }
  Items<Work> items(count, work);
  Crew* crew = Crew::current();
  if (crew && crew->size() <= threads) {
    crew->run([&](size_t thread) { items.run(thread); });
  } else {
    Crew(threads).run([&](size_t thread) { items.run(thread); });
  }
  if (items.error) std::rethrow_exception(items.error);
}

}  // namespace rekmeans
