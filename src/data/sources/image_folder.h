#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "data/on_error.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// Folders of image files, one per class (image_folder.cpp).
struct ImageFolderSpec : DatasetCommon {
  config::Path directory;
  ColorMode color_mode = ColorMode::kRgb;
  Exif exif = Exif::kRotate;
  OnError on_error;
};

/// Image files without labels: the files among `paths` and all files below its folders. label_place() returns the
/// sample's file. Ignores `options.directory` and `options.class_names`. Throws Error{kData}.
std::shared_ptr<const Source> open_images(const std::vector<std::string>& paths, const ImageFolderSpec& options);

}  // namespace dptrain::data
