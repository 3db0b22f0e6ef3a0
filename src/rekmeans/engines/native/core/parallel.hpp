// Parallel work on threads that end with the call.
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

constexpr size_t MAX_THREADS = 256;  // more threads would only need more memory
// with fewer operations, starting a thread costs more than it saves
constexpr size_t PARALLEL_FROM = 1 << 16;

inline size_t threads_for(size_t operations, size_t threads) {
  return operations < PARALLEL_FROM ? 1 : threads;
}

// The items [0, count), which threads take one at a time, and the first exception of any thread.
template <class Work>
struct WorkItems {
  WorkItems(size_t count_, const Work& work_) : count(count_), work(work_) {}

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

// Threads that run one task after another, for calls with many short tasks. They are started and
// joined by the call that creates the pool, so no thread outlives the call, and a fork is safe.
// `parallel` uses the pool of the calling thread.
class ThreadPool {
 public:
  explicit ThreadPool(size_t threads) : outer(current()) {
    workers.reserve(threads);
    try {
      for (size_t t = 1; t < threads; ++t) workers.emplace_back([this, t] { wait_for_work(t); });
    } catch (const std::exception&) {
      // std::system_error or std::bad_alloc: no more threads can start, so the running threads
      // share the work. Rethrowing would terminate the process, because running threads are not
      // joined if a constructor throws.
    }
    current() = this;
  }
  ThreadPool(const ThreadPool&) = delete;
  ~ThreadPool() {
    current() = outer;
    start(nullptr, nullptr);
    for (auto& worker : workers) worker.join();
  }

  // The pool of this thread, or null.
  static ThreadPool*& current() {
    static thread_local ThreadPool* pool = nullptr;
    return pool;
  }

  size_t size() const { return workers.size() + 1; }

  template <class Each>
  void run(const Each& each) {
    // nested parallel calls start their own threads
    ThreadPool* const pool = std::exchange(current(), nullptr);
    busy.store(workers.size());
    start([](const void* what, size_t thread) { (*static_cast<const Each*>(what))(thread); },
          &each);
    each(0);
    for (size_t spins = 0; busy.load(std::memory_order_acquire); ++spins)
      if (spins > SPINS) std::this_thread::yield();
    current() = pool;
  }

 private:
  using Call = void (*)(const void*, size_t);
  // a few microseconds, because the next task often follows at once
  static constexpr size_t SPINS = 2000;

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

  ThreadPool* outer;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<size_t> round{0}, busy{0};
  Call call = nullptr;
  const void* what = nullptr;
};

// Run work(thread, i) for i in [0, count) on several threads: those of the pool, or threads that
// are started and joined here.
template <class Work>
void parallel(size_t threads, size_t count, const Work& work) {
  threads = threads < count ? threads : count;
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) work(size_t(0), i);
    return;
  }
  WorkItems<Work> items(count, work);
  ThreadPool* pool = ThreadPool::current();
  if (pool && pool->size() <= threads) {
    pool->run([&](size_t thread) { items.run(thread); });
  } else {
    ThreadPool(threads).run([&](size_t thread) { items.run(thread); });
  }
  if (items.error) std::rethrow_exception(items.error);
}

}  // namespace rekmeans
