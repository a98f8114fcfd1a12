#pragma once

// Batches of samples of like lengths, as tf.data's bucket_by_sequence_length and torchtext's BucketIterator make them:
// a window of some batches of an epoch's order is sorted by length and cut into batches, which come in an order that is
// drawn. Pure functions; any thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

struct LengthBuckets {
  std::int64_t window = 0;  ///< batches whose samples are sorted together; 0: no buckets
  std::shared_ptr<const std::vector<std::int32_t>> lengths{};  ///< of each sample, where there is a window
};

inline constexpr const char* kNoLengths =
    "bucket_by_length: no input of the model has a length; it is that of ids (Input with dtype: int32), or of steps "
    "that a Masking leaves out, as the first layer behind the Input";

/// Of each sample the steps from the first that is not padding to the last, of the longest of its inputs of steps: of
/// ids, whose padding is 0, and of those that ModelSide::paddings knows. Values are as the source has them. Reads every
/// sample once. Throws Error{kUsage} where no input has steps or samples would have to be decoded; what read() throws.
std::vector<std::int32_t> sample_lengths(const Source& source, const ModelSide& model);

/// An epoch's order with buckets, from its order without. Every batch but the last is full, its samples from short to
/// long; those of the short one are a part of the last window's as any other.
std::vector<std::int64_t> bucket_order(std::vector<std::int64_t> order, const LengthBuckets& buckets,
                                       std::int64_t batch_size, std::uint64_t seed, std::int64_t epoch);

}  // namespace dptrain::data
