#pragma once

// How many threads oneDNN sees (gomp.cpp).

namespace dptrain::backend::cpu {

/// While one lives, oneDNN has the calling thread alone: sums that it would cut among its threads then do not depend on
/// their number. Primitives are to be made and run under the same.
class OneDnnlThread {
 public:
  explicit OneDnnlThread(bool on);
  ~OneDnnlThread();
  OneDnnlThread(const OneDnnlThread&) = delete;
  OneDnnlThread& operator=(const OneDnnlThread&) = delete;

 private:
  bool before_;
};

}  // namespace dptrain::backend::cpu
