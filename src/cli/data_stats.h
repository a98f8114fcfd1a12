#pragma once

// `dptrain data stats`: mean and deviation of the channels, for a Normalization, and how large the images are. Main
// thread; reads on many. Sums are in double and in the order of the samples, so the result does not depend on threads.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/data_sets.h"
#include "data/transform.h"

namespace dptrain::cli {

struct DataStats {
  std::int64_t samples = 0, left_out = 0;                 ///< left out: could not be read
  std::int64_t pixels = 0;                                ///< that were added up, each counting alike
  std::vector<double> mean{}, variance{}, low{}, high{};  ///< per channel, the last axis
  std::vector<std::int64_t> heights{}, widths{};          ///< of the images as read, sorted
};

/// Of the values that `pipeline` makes of input `input`. Channels are the last axis of images, and with `columns` also
/// that of rows of steps; else there is one. Throws Error{kData} where no sample can be read, and for
/// channels that differ in number.
DataStats data_stats(const data::Source& source, int input, const data::Pipeline& pipeline, bool columns = false);

/// Several lines; the last is the Normalization.
std::string stats_report(const std::string& name, const DataStats& stats, const std::string& values);

}  // namespace dptrain::cli
