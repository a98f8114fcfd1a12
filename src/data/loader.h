#pragma once

// Loader: global batches of one source, in an order that is a function of (seed, epoch) alone, filled by worker threads
// ahead of the trainer. One trainer thread calls it; workers are the loader's own, each a single thread. What a batch
// holds never depends on how many they are. No allocation per batch once warm. A sample that cannot be read is missing
// from its batch where the source's account (BadSamples) lets it: its position has no row, the others keep theirs.
//
// In a run of several processes each has a loader of the same batches, which makes the rows of its share alone.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/batch_view.h"
#include "data/length_buckets.h"
#include "data/loader_options.h"
#include "data/on_error.h"
#include "data/source.h"
#include "data/transform.h"
#include "nn/resolved_metric.h"

namespace dptrain::data {

/// Memory of this many bytes, at least as aligned as double; freed with the last copy of the pointer. Called from the
/// loader's threads.
using Allocate = std::function<std::shared_ptr<void>(std::size_t bytes)>;

/// What of its inputs a batch holds: floats after the transforms; or, for a device that runs the transforms itself, the
/// rows as the source has them in memory, or only which they are.
enum class BatchForm { kFloats, kRows, kSamples };

/// A source's rows in memory that feed one input of the model.
struct RowsInMemory {
  int input = 0;                    ///< of the source
  Shape sample;                     ///< as the transforms get it
  DType type = DType::kF32;         ///< kU8 or kF32
  const std::byte* rows = nullptr;  ///< row Source::row(index) is sample `index`
  std::size_t row_bytes() const { return static_cast<std::size_t>(sample.elements()) * size_of(type); }
};

struct LoaderOptions {
  std::int64_t batch_size = 0;  ///< global
  Shuffle shuffle;
  LengthBuckets buckets{};
  std::uint64_t seed = 0;
  int workers = 0;       ///< 0: auto (one where samples only need copying, else what the replicas leave, at least one)
  int busy_threads = 0;  ///< threads of the replicas, for auto; 0: unknown, half the cores are left
  bool alone = false;    ///< nobody computes meanwhile: auto takes every core
  int prefetch = 0;      ///< batches ahead; 0: auto (as many as keep all workers busy: 2 to 4, more of small ones)
  /// Of the batches' inputs and labels; empty: ordinary memory. For GPUs page-locked memory, from which copies are
  /// asynchronous. What it allocates from outlives the loader and its batches.
  Allocate allocate{};
  BatchForm form = BatchForm::kFloats;
  int dataset = -1;  ///< BatchView::dataset of the batches
  /// Which positions of batch `number`, of so many, are this process's: no others are read, but for what they are mixed
  /// with. The same answer each time; any thread. Not set: all of them.
  std::function<RowRange(std::int64_t positions, std::int64_t number)> share{};
  std::int64_t most_share = 0;  ///< positions of a share, where they change with the number; 0: as that of batch 0
  bool numbered = false;        ///< BatchView::number is set: the epochs' batches are counted through
  /// With a share, where the source leaves samples out: called by next(), once for each batch, in their order.
  AgreeOnBad agree{};
};

/// A batch in a buffer of the loader; the buffer is free for the workers again when the object dies. Movable; may
/// outlive the loader. Holding several delays nobody, it only takes more buffers.
class Batch {
 public:
  Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  std::int64_t rows() const;  ///< of the global batch, whoever has them
  std::int64_t epoch() const;
  std::int64_t first() const;  ///< position in the epoch's order at which the batch begins
  std::int64_t end() const;    ///< position at which the next one begins: first() + rows() unless samples are missing
  const std::vector<std::int64_t>& indices() const;  ///< sample of each of rows() in the data set
  double waited() const;                             ///< seconds the trainer waited for it

  /// Those of rows() that this process has; without a share all.
  RowRange own() const;
  std::span<const std::int64_t> own_indices() const;  ///< sample of each of them
  const float* input(int i) const;                    ///< [own, shape...] of one of floats; BatchForm::kFloats
  const void* labels(int which = 0) const;  ///< int32 [own, positions] or float [own, width]; null without labels
  /// The own rows as replicas take them, in memory of the Allocate: for BatchForm::kFloats with inputs, else with
  /// samples, and for kRows with the rows as the source has them. Valid as long as the batch.
  BatchView host() const;

  struct Buffer;

 private:
  friend class Loader;
  std::shared_ptr<Buffer> buffer_;
};

/// How the labels of one output are delivered, checked when the loader is made and as they are read.
struct LabelForm {
  std::string output{};  ///< the output's name; labels without a name serve any
  nn::LabelKind kind = nn::LabelKind::kClass;
  std::int64_t width = 0;      ///< of the output
  std::int64_t positions = 1;  ///< rows of classes that the output has: all its axes but the last
  bool probabilities = false;  ///< crossentropy: of rows each value, and of a single output the class, lies in [0, 1]
};

class Loader {
 public:
  /// Throws Error{kData} when shapes do not fit ("samples are 28x28, the model wants 32x32x3"); a missing final axis of
  /// size 1 is added. Labels out of range are Error{kData} with file and index, here, before any training. Transforms
  /// run on every input with the same draws. No thread runs before the first seek() or next(). Error{kInternal}: a
  /// share of a source that leaves samples out, and nobody to agree with.
  /// `labels`: one for each loss; none: the batches have no labels.
  Loader(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model, std::vector<LabelForm> labels,
         LoaderOptions options);
  ~Loader();

  std::int64_t samples() const;
  /// The last batch of an epoch is short, never dropped.
  std::int64_t batches_per_epoch() const;
  int workers() const;
  int prefetch() const;  ///< batches ahead at most
  /// One for each input of the model; empty where not all of them lie in memory as rows.
  std::vector<RowsInMemory> rows_in_memory() const;

  /// Starts, or goes on, at a position of an epoch without reading what lies before. Forgets what was prefetched.
  void seek(std::int64_t epoch, std::int64_t first_sample);
  /// The next batch of the current epoch (0 until seek says otherwise); rows() == 0 at its end. Rethrows what went
  /// wrong while that batch was made, again each time it is asked for. Samples that are missing from it, in any
  /// process, are added to the source's account, which may throw. A batch that has lost all its rows is passed over; a
  /// whole epoch of them is Error{kData}.
  Batch next();
  /// The next epoch begins. The workers run on across the boundary by themselves, so its first batches have been made
  /// while the trainer validated and saved. In the middle of an epoch the rest of it is skipped.
  void next_epoch();

  /// The order of an epoch, without buckets: the sample at each position. Pure.
  static std::vector<std::int64_t> order(std::int64_t samples, const Shuffle& shuffle, std::uint64_t seed,
                                         std::int64_t epoch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data
