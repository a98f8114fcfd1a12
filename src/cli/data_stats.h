#pragma once

// `dptrain data stats`: mean and variance of the channels, for a Normalization, and the sizes of images. Main thread;
// reads on many. Sums are in double and in the order of the samples, so the result does not depend on threads.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/data_sets.h"
#include "data/transform.h"

namespace dptrain::cli {

struct DataStats {
  std::int64_t samples = 0, left_out = 0;                 ///< left out: unreadable
  std::int64_t pixels = 0;                                ///< number of summed pixels, which count alike
  std::vector<double> mean{}, variance{}, low{}, high{};  ///< per channel, the last axis
  std::vector<std::int64_t> heights{}, widths{};          ///< of the images as read, sorted
};

/// Statistics of input `input` after `pipeline`. Channels are the last axis of images and, with `columns`, of rows of
/// steps; other samples have one. Throws Error{kData} if no sample is readable or the number of channels differs.
DataStats data_stats(const data::Source& source, int input, const data::Pipeline& pipeline, bool columns = false);

/// The last line is the Normalization.
std::string stats_report(const std::string& name, const DataStats& stats, const std::string& values);

}  // namespace dptrain::cli
