#pragma once

// `dptrain data preview`: samples as training sees them, as a picture. Main thread.

#include <cstdint>
#include <optional>

#include "cli/data_sets.h"
#include "picture/contact_sheet.h"

namespace dptrain::cli {

struct PreviewOptions {
  std::int64_t samples = 8;            ///< evenly spread over the data set
  std::optional<std::int64_t> epochs;  ///< the same sample so many times, as the epochs draw it; 6, of clips 2
  bool evaluation = false;             ///< the eval transforms instead, once
};

/// Of that input. Images: one row per sample under its class and place, one column per epoch. Clips: one row per sample
/// and epoch, one column per frame, 16 of them evenly spread where there are more. Samples that cannot be read are left
/// out, with a warning. Values are shown as they are where they lie in 0..1 or 0..255, else stretched over the whole
/// sheet, with a line that says so. Throws Error where the model has no such input.
picture::Sheet preview(const DataSets& data, const NamedSet& set, const PreviewOptions& options);

}  // namespace dptrain::cli
