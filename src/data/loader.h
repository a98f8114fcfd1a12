#pragma once

// Loader: global batches of one source, in an order that depends on (seed, epoch) only, filled by worker threads ahead
// of the trainer. One trainer thread calls it. The loader owns the workers; their number does not change a batch's
// content. No allocation per batch once warm. If the source's account (BadSamples) permits, a sample that cannot be
// read is missing from its batch: its position has no row, and the other samples keep their positions. With several
// processes each has a loader of the same batches, which makes only the rows of its share.
//
//   Loader loader(source, pipeline, model, labels, {.batch_size = 256});
//   for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) replicas.step(batch.view(), inputs);
//   loader.next_epoch();

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// Allocates this many bytes, aligned at least as double; freed with the last copy of the pointer. Any thread.
using Allocate = std::function<std::shared_ptr<void>(std::size_t bytes)>;

/// Form of a batch's inputs: floats after the transforms; or, if a device runs the transforms, the rows as the source
/// has them in memory, or only the indices of the samples.
enum class BatchForm { kFloats, kRows, kSamples };

/// A source's rows in memory for one input of the model.
struct RowsInMemory {
  int input = 0;                    ///< index of the input in the source
  Shape sample;                     ///< shape before the transforms
  DType type = DType::kF32;         ///< kU8 or kF32
  const std::byte* rows = nullptr;  ///< row Source::row(index) is sample `index`
  std::size_t row_bytes() const { return static_cast<std::size_t>(sample.elements()) * size_of(type); }
};

struct LoaderOptions {
  std::int64_t batch_size = 0;  ///< size of the global batch
  Shuffle shuffle;
  LengthBuckets buckets{};
  std::uint64_t seed = 0;
  int workers = 0;       ///< 0: auto (1 if samples are only copied, else the cores that the replicas leave, 1 to 16)
  int busy_threads = 0;  ///< threads of the replicas, for auto; 0: unknown, half of the cores
  bool uses_all_cores = false;  ///< nothing else computes: auto uses all cores
  int prefetch = 0;             ///< batches ahead; 0: auto (2 to 4, more if they are small)
  /// Memory of the inputs and labels; empty: ordinary memory. For GPUs it is page-locked, so that copies are
  /// asynchronous. The allocator must outlive the loader and its batches. The first seek() or next() allocates all
  /// buffers that `prefetch` and `held` batches need.
  Allocate allocate{};
  int held = 2;  ///< largest number of batches that the caller holds at once, with the one that next() returns
  BatchForm form = BatchForm::kFloats;
  int dataset = -1;  ///< BatchView::dataset of the batches
  /// Positions of batch `number` that belong to this process. Other samples are read only for mixing. Must be
  /// deterministic; any thread. Not set: all positions.
  std::function<RowRange(std::int64_t positions, std::int64_t number)> share{};
  std::int64_t max_share = 0;  ///< largest share, if shares change with the number; 0: that of batch 0
  bool sets_number = false;    ///< sets BatchView::number, which counts batches over all epochs
  /// Required with a share if the source leaves samples out. next() calls it once per batch, in order.
  BadRowExchange agree{};
};

/// A batch in a buffer of the loader, which is free again after the destruction of the Batch. Movable; may outlive the
/// loader. Holding several does not block the loader, but takes more buffers.
class Batch {
 public:
  Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  std::int64_t rows() const;  ///< rows of the global batch, in all processes
  std::int64_t epoch() const;
  std::int64_t first() const;  ///< its first position in the epoch's order
  std::int64_t end() const;    ///< first position of the next one: first() + rows() unless samples are missing
  const std::vector<std::int64_t>& indices() const;  ///< sample of each of the rows() in the data set
  double waited() const;                             ///< seconds that next() waited for it

  /// Range of rows() that this process has; all without a share.
  RowRange own() const;
  std::span<const std::int64_t> own_indices() const;  ///< sample of each of them
  const float* input(int i) const;                    ///< [own, shape...] of a float input; only BatchForm::kFloats
  const void* labels(int which = 0) const;  ///< int32 [own, positions] or float [own, width]; null without labels
  /// The own rows for the replicas, in memory of the Allocate: inputs for BatchForm::kFloats, else samples, and for
  /// kRows also the source's rows. Valid as long as the batch.
  BatchView view() const;

  struct Buffer;

 private:
  friend class Loader;
  std::shared_ptr<Buffer> buffer_;
};

/// Form of the labels of one output. Checked when the loader is made and when labels are read.
struct LabelForm {
  std::string output{};  ///< name of the output; labels without a name match any output
  nn::LabelKind kind = nn::LabelKind::kClass;
  std::int64_t width = 0;                 ///< width of the output
  std::int64_t positions = 1;             ///< rows of classes of the output: all its axes except the last
  Shape map{};                            ///< [H, W] if the positions are pixels, to which label maps fit
  std::optional<std::int64_t> ignored{};  ///< labels may also be this number; kDense: a row of -1
  std::int64_t fill = 0;                  ///< label of positions outside of the image
  bool probabilities = false;  ///< crossentropy: values of rows, or the class of a single output, are in [0, 1]
};

class Loader {
 public:
  /// `labels`: one per loss; empty: batches without labels. Throws Error{kData} if shapes do not match ("samples are
  /// 28x28, the model expects 32x32x3"); a missing last axis of size 1 is added. Throws Error{kData} with file and
  /// index for a label out of range. Throws Error{kUsage} for transforms that cannot mix the inputs, and
  /// Error{kInternal} for a share without `agree` if the source skips samples. Transforms draw the same random numbers
  /// for all inputs. Threads start with the first seek() or next(), which also allocates from `allocate`: call it while
  /// no collective is queued in this process.
  Loader(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model, std::vector<LabelForm> labels,
         LoaderOptions options);
  ~Loader();

  std::int64_t samples() const;
  /// The last batch of an epoch is short, never dropped.
  std::int64_t batches_per_epoch() const;
  int workers() const;
  int prefetch() const;  ///< largest number of batches ahead
  /// One per input of the model; empty unless all inputs are rows in memory.
  std::vector<RowsInMemory> rows_in_memory() const;

  /// Continues at a position of an epoch, without reading the samples before it. Discards prefetched batches.
  void seek(std::int64_t epoch, std::int64_t first_sample);
  /// The next batch of the current epoch (0 before the first seek); rows() == 0 at its end. Rethrows the error of a
  /// batch on each call. Adds samples missing in any process to the source's account, which may throw. Skips batches
  /// without rows; throws Error{kData} if an epoch has no others.
  Batch next();
  /// Begins the next epoch, and skips the rest of the current one. Workers continue across epochs, so its first batches
  /// are made during validation.
  void next_epoch();

  /// The sample at each position of an epoch, without buckets. Pure function.
  static std::vector<std::int64_t> order(std::int64_t samples, const Shuffle& shuffle, std::uint64_t seed,
                                         std::int64_t epoch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data
