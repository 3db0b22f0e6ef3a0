// Access to an object from several Python threads: many may read it, or one may write.
#pragma once
#include <atomic>
#include <stdexcept>
#include <string>

namespace rekmeans {

// The core releases the GIL while it works, so a second thread can call it with the same object.
// Such a call raises RuntimeError instead of causing a data race.
class Access {
 public:
  void begin_reading(const char* name) {
    int users = state.load();
    do {
      if (users < 0) throw_in_use(name);
    } while (!state.compare_exchange_weak(users, users + 1));
  }
  void begin_changing(const char* name) {
    int users = 0;
    if (!state.compare_exchange_strong(users, -1)) throw_in_use(name);
  }
  void end_reading() { state.fetch_sub(1); }
  void end_changing() { state.store(0); }

 private:
  [[noreturn]] static void throw_in_use(const char* name) {
    throw std::runtime_error(std::string("this ") + name +
                             " is in use by another thread. Use a separate object in each thread.");
  }
  std::atomic<int> state{0};  // number of readers, or -1 while a thread writes
};

class ReadGuard {
 public:
  ReadGuard(Access& access_, const char* name) : access(access_) { access.begin_reading(name); }
  ReadGuard(const ReadGuard&) = delete;
  ~ReadGuard() { access.end_reading(); }

 private:
  Access& access;
};

class WriteGuard {
 public:
  WriteGuard(Access& access_, const char* name) : access(access_) { access.begin_changing(name); }
  WriteGuard(const WriteGuard&) = delete;
  ~WriteGuard() { access.end_changing(); }

 private:
  Access& access;
};

}  // namespace rekmeans
