#pragma once

// Texts for prediction: files, folders of them, or the lines of stdin, made into samples as a model has learned it.

#include <memory>
#include <string>
#include <vector>

#include "data/sources/text.h"

namespace dptrain::data {

/// Texts without labels: of the .txt files among `paths` and below folders, in their order; "-", which stands alone:
/// each line of stdin, read to its end. label_place() names the file, or "stdin:3". `learned`: of the model's
/// checkpoint (Source::learn()). Throws Error{kData, kUsage, kCheckpoint}.
std::shared_ptr<const Source> open_texts(const std::vector<std::string>& paths, const TextSpec& spec,
                                         const std::string& learned);

}  // namespace dptrain::data
