#pragma once

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

}  // namespace dptrain::data
