#pragma once

// Writer: saves in the background. The trainer's thread makes a snapshot (a copy of the model and state) and goes on;
// one thread writes them in order. A failed save is remembered and warned of, training goes on; later saves retry.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "formats/checkpoint/checkpoint.h"
#include "core/error.h"

namespace dptrain::checkpoint {

/// One file to write. The same snapshot may go to several paths (last.h5 and best.h5): it is written once per path.
struct Job {
  std::shared_ptr<const graph::Model> model;
  std::shared_ptr<const State> state;
  exporting::Compiled compiled;
  std::vector<std::string> paths;
  bool private_state = true;
};

struct Saved {
  std::string path;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::optional<Error> error;  ///< set when it failed
};

class Writer {
 public:
  /// `done` is called on the writer's thread after each file; it must not throw.
  explicit Writer(std::function<void(const Saved&)> done);
  ~Writer();  ///< finishes what is queued

  /// At most one job waits beside the one being written; a third caller waits.
  void submit(Job job);
  /// Blocks until everything submitted is on disk (or has failed).
  void drain();
  /// The error of the last save that was finished, if it failed.
  std::optional<Error> last_error() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::checkpoint
