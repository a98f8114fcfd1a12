#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/sources/dataset.h"

namespace dptrain::data {

/// Windows over a series (windows.cpp), with the words of keras.utils.timeseries_dataset_from_array. The samples of
/// `of` are the steps of the series, in order.
struct WindowsSpec : DatasetCommon {
  config::Of<dataset_family> of;
  std::int64_t sequence_length = 0;           ///< steps of a window
  std::int64_t sequence_stride = 1;           ///< from the beginning of a window to that of the next
  std::int64_t sampling_rate = 1;             ///< from a step of a window to the next
  std::int64_t start_index = 0;               ///< the first step that is used
  std::optional<std::int64_t> end_index{};    ///< the first one behind them
  std::int64_t horizon = 1;                   ///< from the last step of a window to the step of its label
  std::int64_t label_steps = 1;               ///< labels of a window, `sampling_rate` apart
  std::vector<std::int64_t> label_columns{};  ///< of a step; none: all
  std::vector<double> mean{}, variance{};     ///< of the columns: one value, or one each; none: as they are
};

/// Throws Error{kData} if the series is too short, Error{kUsage} if the spec does not fit it.
std::shared_ptr<const Source> make_windows(std::shared_ptr<const Source> series, const WindowsSpec& spec,
                                           const ModelSide& model);

/// Input for a model that was trained on such windows. `arrays` contains windows, or the steps of a series, from which
/// all windows are made. Columns are normalized with `mean` and `variance`.
std::shared_ptr<const Source> windows_of_inputs(std::shared_ptr<const Source> arrays, const WindowsSpec& spec,
                                                const ModelSide& model);

/// The scale of each of `width` label values; none if labels were not made of normalized columns.
std::vector<LabelScale> label_scales(const WindowsSpec& spec, std::int64_t width);

}  // namespace dptrain::data
