#pragma once

#include <string>

#include "data/images/image.h"
#include "data/images/mask_colors.h"
#include "data/on_error.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// A folder of pictures and a folder of their masks (image_masks.cpp).
struct ImageMasksSpec : DatasetCommon, MaskColors {
  config::Path images, masks;
  ColorMode color_mode = ColorMode::kRgb;
  Exif exif = Exif::kRotate;
  OnError on_error;
};

/// The two folders of pictures and masks.
struct MaskFolders {
  std::string images, masks;
};
/// Whether `folder` has exactly two sub-folders with equal file names apart from the suffix, and one of them contains
/// PNG files with class numbers only.
std::optional<MaskFolders> find_mask_folders(const std::string& folder);

}  // namespace dptrain::data
