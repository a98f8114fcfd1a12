#pragma once

// A recorded piece of a stream, and of the streams that events joined into it: what CUDA calls stream capture and
// graph. Guarded by the scheduler's mutex while it is recorded, unchanged afterwards.

#include <memory>
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

  /// A new branch, for a stream that waits for an event of this recording. Its number.
  std::size_t join(EmuStream& stream);
  void add(std::size_t branch, Operation operation) { branches_[branch].operations.push_back(std::move(operation)); }
  std::size_t length(std::size_t branch) const { return branches_[branch].operations.size(); }
  const std::vector<Branch>& branches() const { return branches_; }
  std::thread::id thread() const { return thread_; }

  /// The recording has failed; `why` is said at its end.
  void spoil(const std::string& why) {
    if (spoiled_.empty()) spoiled_ = why;
  }
  /// Throws Error{kDevice} if it was spoilt, or if a branch holds work that the first branch does not wait for.
  void close();
  bool closed() const { return closed_; }

 private:
  std::vector<Branch> branches_;
  std::thread::id thread_;
  std::string spoiled_;
  bool closed_ = false;
};

}  // namespace dptrain::backend::emu
