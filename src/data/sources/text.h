#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// Texts without labels: of the .txt files among `paths` and below folders, in their order; "-", which stands alone:
/// each line of stdin, read to its end. label_place() names the file, or "stdin:3". `learned`: of the model's
/// checkpoint (Source::learn()). Throws Error{kData, kUsage, kCheckpoint}.
std::shared_ptr<const Source> open_texts(const std::vector<std::string>& paths, const TextSpec& spec,
                                         const std::string& learned);

}  // namespace dptrain::data
