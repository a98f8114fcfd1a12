#pragma once

// Loader: global batches of one source, in an order that is a function of (seed, epoch) alone, filled by worker threads
// ahead of the trainer. One trainer thread takes batches; workers are the loader's own. No allocation per batch once warm.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "data/transform.h"
#include "optim/loss.h"

namespace dptrain::data {

struct Shuffle {
  enum class Kind { kFull, kNone, kBuffer } kind = Kind::kFull;
  std::int64_t buffer = 0;
};

struct LoaderOptions {
  std::int64_t batch_size = 0;  ///< global
  Shuffle shuffle;
  std::uint64_t seed = 0;
  int workers = 0;   ///< 0: auto (what the replicas leave, at least one)
  int prefetch = 0;  ///< batches ahead; 0: auto (2 per worker, at least 2)
  bool repeat_last_partial = true;  ///< the last batch of an epoch is short, never dropped
};

/// A batch in a ring slot; the slot is free for the workers again when the object dies. Movable.
class Batch {
 public:
  Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  std::int64_t rows() const;
  std::int64_t epoch() const;
  std::int64_t first() const;  ///< position of row 0 in the epoch's order
  const float* input(int i) const;  ///< [rows, shape...]
  const void* labels() const;       ///< int32 [rows] or float [rows, width]; null without labels
  const std::vector<std::int64_t>& indices() const;  ///< sample of each row in the data set
  double waited() const;  ///< seconds the trainer waited for it

  struct Slot;

 private:
  friend class Loader;
  std::shared_ptr<Slot> slot_;
};

/// How labels are delivered, checked when the loader is made and as they are read.
struct LabelDelivery {
  bool wanted = true;
  optim::LabelKind kind = optim::LabelKind::kClass;
  std::int64_t width = 0;  ///< of the model's output
};

class Loader {
 public:
  /// Throws Error{kData} when shapes do not fit ("samples are 28x28, the model wants 32x32x3"); a missing final axis of size
  /// 1 is added. Labels out of range are Error{kData} with file and index when met.
  Loader(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model, LabelDelivery labels, LoaderOptions options);
  ~Loader();

  std::int64_t samples() const;
  std::int64_t batches_per_epoch() const;

  /// Starts (or goes on) at a position of an epoch; takes O(1) in reading. Forgets what was prefetched.
  void seek(std::int64_t epoch, std::int64_t first_sample);
  /// The next batch of the current epoch; rows() == 0 at its end. With `run_on` the workers go on into the next epoch
  /// meanwhile. Rethrows a worker's first error.
  Batch next();
  /// After the end of an epoch: the next one begins.
  void next_epoch();

  /// The order of an epoch: the sample at each position. Pure.
  static std::vector<std::int64_t> order(std::int64_t samples, const Shuffle& shuffle, std::uint64_t seed, std::int64_t epoch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data
