#pragma once

// Advice for a path that a command cannot use: the file is missing, or is of another kind.
// Any thread.

#include <string>

namespace dptrain {

/// "; did you mean 'train-images.gz'?" among the files of its folder, or the first folder of the path that is
/// missing; "" if no name is near.
std::string what_to_try_for(const std::string& missing);

/// The kind of a file, by its first bytes and its name.
struct FileKind {
  enum class Use { kOther, kModel, kHdf5, kUnreadableModel, kTable, kArrays, kPicture } use = Use::kOther;
  std::string name{};  ///< "a Keras model", "a PyTorch file"; "" for kOther
};
FileKind kind_of_file(const std::string& path);

}  // namespace dptrain
