#pragma once

// Batches of samples of similar lengths, as in tf.data's bucket_by_sequence_length and torchtext's BucketIterator. Each
// window of an epoch's order is sorted by length and cut into batches, which are shuffled. Pure functions; any thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

struct LengthBuckets {
  std::int64_t window = 0;  ///< batches whose samples are sorted together; 0: no buckets
  std::shared_ptr<const std::vector<std::int32_t>> lengths{};  ///< length of each sample; null without a window
};

inline constexpr const char* kNoLengths =
    "bucket_by_length: no input of the model has a length; it is that of ids (Input with dtype: int32), or of steps "
    "that a Masking leaves out, as the first layer after the Input";

/// Length of each sample: steps from the first to the last that is not padding, in its longest input with
/// ModelSide::has_lengths(). Reads every sample once. Throws Error{kUsage} if no input has lengths or samples must be
/// decoded, and as Source::read().
std::vector<std::int32_t> sample_lengths(const Source& source, const ModelSide& model);

/// Applies buckets to an epoch's order. Each batch is sorted by length, and all but the last are full. A short last
/// batch is a random part of the last window.
std::vector<std::int64_t> bucket_order(std::vector<std::int64_t> order, const LengthBuckets& buckets,
                                       std::int64_t batch_size, std::uint64_t seed, std::int64_t epoch);

}  // namespace dptrain::data
