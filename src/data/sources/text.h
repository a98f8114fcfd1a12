#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/encoders/encoder.h"
#include "data/on_error.h"
#include "data/sources/dataset.h"

namespace dptrain::data {

/// Folders of .txt files, one per class, as in keras.utils.text_dataset_from_directory (text.cpp).
struct TextSpec : DatasetCommon {
  config::Path directory;
  config::Of<encoder_family> vectorization;  ///< an encoder of texts
  OnError on_error;
};

/// Whether the name of a file ends with ".txt", in any case.
bool is_text_file(std::string_view name);

/// Texts without labels: the .txt files among `paths` and below their folders, in order. If the only path is "-", each
/// line of stdin is a text. label_place() names the file, or "stdin:3". `fitted_state`: the state in the model's
/// checkpoint (Source::fit()). Throws Error{kData, kUsage, kCheckpoint}.
std::shared_ptr<const Source> open_texts(const std::vector<std::string>& paths, const TextSpec& spec,
                                         const std::string& fitted_state);

}  // namespace dptrain::data
