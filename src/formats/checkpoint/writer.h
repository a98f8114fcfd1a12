#pragma once

// CheckpointWriter saves in the background: the trainer's thread makes a snapshot (a copy of the model and state), and
// one thread writes snapshots in order. After a failed save training continues, and later saves retry.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/threads.h"
#include "formats/checkpoint/checkpoint.h"

namespace dptrain::formats {

/// One snapshot to write, once for each path (last.h5 and best.h5).
struct WriteJob {
  std::shared_ptr<const graph::Model> model;
  std::shared_ptr<const CheckpointState> state;
  CompileConfig compiled;
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
  ~CheckpointWriter();  ///< finishes queued jobs

  /// Blocks while another job waits for the one that is being written.
  void submit(WriteJob job);
  /// Blocks until everything submitted is on disk (or has failed).
  void drain();
  /// The error of the last finished save, if it failed.
  std::optional<Error> last_error() const;

 private:
  void run();
  void finish(const WrittenFile& saved);

  const std::function<void(const WrittenFile&)> done_;
  Queue<WriteJob> jobs_{1};
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int pending_ = 0;                  ///< jobs submitted and not finished
  std::optional<Error> last_error_;  ///< of the last save
  std::thread thread_;               ///< last: it uses all of the above
};

}  // namespace dptrain::formats
