#pragma once

// Split divides a data set in two, at random or in order. Subset: some samples of another source in a given order,
// sharing its memory; Split and `take` return one. Immutable.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// Samples `indices` of `whole`. `label` names them in the fingerprint.
std::shared_ptr<const Source> subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices,
                                     const std::string& label);
/// The first `count` samples; `whole` itself if it has no more.
std::shared_ptr<const Source> take(std::shared_ptr<const Source> whole, std::int64_t count);

/// A part of another role's data set: the samples of `of` that fall into `fraction`; `of` keeps the rest.
struct SplitSpec : DatasetCommon {
  std::string of = "train";
  double fraction = 0;
  bool stratified = false;
  bool shuffle = true;                ///< false: the last samples, as in Keras's validation_split
  std::optional<std::uint64_t> seed;  ///< absent: the config's seed
};

struct SplitIndices {
  std::vector<std::int64_t> held_out, remaining;  ///< ascending and disjoint
};

/// Draws round(fraction * whole.size()) of `candidates` (samples of `whole`, ascending) without replacement, determined
/// by `seed` and `stream`. Stratified: from each class in proportion to its candidates, to within one sample. Throws
/// Error{kData} if either part would be empty or, stratified, if labels are not classes.
SplitIndices split_indices(const Source& whole, const std::vector<std::int64_t>& candidates, double fraction,
                           bool stratified, std::uint64_t seed, std::uint32_t stream);

/// Holds the last round(fraction * whole.size()) of `candidates`. Earlier ones that share numbers with them
/// (Source::shared_before) are in neither part. Throws Error{kData} if either part would be empty.
SplitIndices split_last(const Source& whole, const std::vector<std::int64_t>& candidates, double fraction);

}  // namespace dptrain::data
