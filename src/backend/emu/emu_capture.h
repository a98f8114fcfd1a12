#pragma once

// A recording of a stream and those that events joined to it (CUDA's capture and graph). The scheduler's mutex guards
// it while being recorded; then it is immutable.

#include <string>
#include <thread>
#include <vector>

#include "backend/emu/emu_scheduler.h"

namespace dptrain::backend::emu {

class Capture {
 public:
  struct Branch {
    EmuDevice* device;
    std::vector<Operation> operations;
  };

  Capture(EmuStream& origin, std::thread::id thread) : thread_(thread) { join(origin); }

  /// Adds a branch for a stream that waits for an event of this recording. Returns its number.
  std::size_t join(EmuStream& stream);
  void add(std::size_t branch, Operation operation) { branches_[branch].operations.push_back(std::move(operation)); }
  std::size_t length(std::size_t branch) const { return branches_[branch].operations.size(); }
  const std::vector<Branch>& branches() const { return branches_; }
  std::thread::id thread() const { return thread_; }

  /// Marks the recording as failed; close() reports `why`.
  void invalidate(const std::string& why) {
    if (invalid_reason_.empty()) invalid_reason_ = why;
  }
  /// Throws Error{kDevice} if the recording has failed, or if the first branch does not wait for all others.
  void close();
  bool closed() const { return closed_; }

 private:
  std::vector<Branch> branches_;
  std::thread::id thread_;
  std::string invalid_reason_;
  bool closed_ = false;
};

}  // namespace dptrain::backend::emu
