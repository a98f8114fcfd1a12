#pragma once

// RunLock: one process at a time trains into a run directory. It holds a lock on <directory>/.lock; the kernel drops it
// when the process ends, however it ends, so a lock never outlives its owner. Movable; main thread.

#include <string>

namespace dptrain::train {

class RunLock {
 public:
  RunLock() = default;
  /// Throws Error{kUsage} naming the process that has it, Error{kWrite} where the file cannot be made. Warns, and locks
  /// nothing, where the file system has no locks.
  explicit RunLock(const std::string& directory);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock();

 private:
  int file_ = -1;
};

}  // namespace dptrain::train
