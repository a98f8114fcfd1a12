#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/sources/dataset.h"

namespace dptrain::data {

/// Windows over a series, with the arguments of keras.utils.timeseries_dataset_from_array. The samples of `of` are the
/// steps of the series, in order.
struct WindowsSpec : DatasetCommon {
  config::Of<dataset_family> of;
  std::int64_t sequence_length = 0;           ///< steps of a window
  std::int64_t sequence_stride = 1;           ///< steps between the beginnings of two windows
  std::int64_t sampling_rate = 1;             ///< steps between two elements of a window
  std::int64_t start_index = 0;               ///< first step
  std::optional<std::int64_t> end_index{};    ///< end of the steps, exclusive
  std::int64_t horizon = 1;                   ///< from the last step of a window to its first label
  std::int64_t label_steps = 1;               ///< labels per window, `sampling_rate` steps apart
  std::vector<std::int64_t> label_columns{};  ///< columns of a step; empty: all
  std::vector<double> mean{}, variance{};     ///< one value, or one per column; empty: not normalized
};

/// Throws Error{kData} if the series is too short, Error{kUsage} if the spec does not fit it.
std::shared_ptr<const Source> make_windows(std::shared_ptr<const Source> series, const WindowsSpec& spec,
                                           const ModelSide& model);

/// Input for a model that was trained on windows. `arrays` contains windows, or the steps of a series, which becomes
/// all of its windows. Normalizes columns with `mean` and `variance`.
std::shared_ptr<const Source> windows_of_inputs(std::shared_ptr<const Source> arrays, const WindowsSpec& spec,
                                                const ModelSide& model);

/// The scale of each of `width` label values; empty if labels are not normalized columns.
std::vector<LabelScale> label_scales(const WindowsSpec& spec, std::int64_t width);

}  // namespace dptrain::data
