// One object, several Python threads: any number may read it at a time, or one may change it.
#pragma once
#include <atomic>
#include <stdexcept>
#include <string>

namespace rekmeans {

// The core releases the GIL while it works, so a second thread can call it on the same object. That
// call raises RuntimeError instead of causing a data race.
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
                             " is in use by another thread. Give each thread its own.");
  }
  std::atomic<int> state{0};  // how many threads read, or -1 while one changes
};

class Reading {
 public:
  Reading(Access& access_, const char* name) : access(access_) { access.begin_reading(name); }
  Reading(const Reading&) = delete;
  ~Reading() { access.end_reading(); }

 private:
  Access& access;
};

class Changing {
 public:
  Changing(Access& access_, const char* name) : access(access_) { access.begin_changing(name); }
  Changing(const Changing&) = delete;
  ~Changing() { access.end_changing(); }

 private:
  Access& access;
};

}  // namespace rekmeans
