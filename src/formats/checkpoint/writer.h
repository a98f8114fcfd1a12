#pragma once

// CheckpointWriter: saves in the background. The trainer's thread makes a snapshot (a copy of the model and state) and
// goes on; one thread writes them in order. A failed save is remembered and warned of, training goes on; later saves
// retry.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "formats/checkpoint/checkpoint.h"

namespace dptrain::formats {

/// One file to write. The same snapshot may go to several paths (last.h5 and best.h5): it is written once per path.
struct WriteJob {
  std::shared_ptr<const graph::Model> model;
  std::shared_ptr<const CheckpointState> state;
  Compiled compiled;
  std::vector<std::string> paths;
  bool private_state = true;
};

struct WrittenFile {
  std::string path;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::optional<Error> error;  ///< set when it failed
};

class CheckpointWriter {
 public:
  /// `done` is called on the writer's thread after each file; it must not throw.
  explicit CheckpointWriter(std::function<void(const WrittenFile&)> done);
  ~CheckpointWriter();  ///< finishes what is queued

  /// At most one job waits beside the one being written; a third caller waits.
  void submit(WriteJob job);
  /// Blocks until everything submitted is on disk (or has failed).
  void drain();
  /// The error of the last save that was finished, if it failed.
  std::optional<Error> last_error() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::formats
