#pragma once

#include <cstdint>
#include <optional>

#include "data/images/image.h"
#include "data/images/mask_colors.h"
#include "data/video/clip_reading.h"

namespace dptrain::data {

/// A column of paths of image files, which are read as by ImageFolder.
struct ImageSpec : ImageReading {};

/// A column of paths of masks, which are labels.
struct MaskSpec : MaskColors {
  std::optional<std::int64_t> ignore_class;  ///< no key: that of the data set
};

/// A column of paths of clips, files or folders of frames, which are read as by the data set Video.
struct ColumnVideoSpec : ClipReading {};

}  // namespace dptrain::data
