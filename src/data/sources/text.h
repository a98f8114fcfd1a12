#pragma once

#include <string_view>

#include "data/encoders/encoder.h"
#include "data/on_error.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// Folders of .txt files, one per class, as keras.utils.text_dataset_from_directory (text.cpp).
struct TextSpec : DatasetCommon {
  config::Path directory;
  config::Of<encoder_family> vectorization;  ///< one that reads texts
  OnError on_error;
};

/// Whether a file of a folder is a text by its name: ".txt", in small or capital letters.
bool is_text_file(std::string_view name);

}  // namespace dptrain::data
