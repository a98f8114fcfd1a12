#pragma once

// `dptrain data preview`: samples as training sees them, as a picture. Main thread.

#include <cstdint>

#include "cli/data_sets.h"
#include "data/images/contact_sheet.h"

namespace dptrain::cli {

struct PreviewOptions {
  std::int64_t samples = 8;  ///< evenly spread over the data set
  std::int64_t epochs = 6;   ///< the same sample so many times, as the epochs draw it
  bool evaluation = false;   ///< the eval transforms instead, once
};

/// One row per sample under its class and place, one column per epoch. Samples that cannot be read are left out, with a
/// warning. Values are shown as they are where they lie in 0..1 or 0..255, else stretched over the whole sheet, with a
/// line that says so. Throws Error where the model's first input is no image.
data::RgbImage preview(const DataSets& data, const NamedSet& set, const PreviewOptions& options);

}  // namespace dptrain::cli
