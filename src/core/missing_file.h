#pragma once

// What messages say of a path that is not what a command expects: it is missing, or it is a file of another kind. Any
// thread.

#include <string>

namespace dptrain {

/// "; did you mean 'train-images.gz'?" among what lies beside it, or which folder on the way is not there either; ""
/// where nothing is near.
std::string what_to_try_for(const std::string& missing);

/// What a file is, by its first bytes and its name.
struct FileKind {
  enum class Use { kOther, kModel, kUnreadableModel, kTable, kArrays, kPicture } use = Use::kOther;
  std::string name{};  ///< "a Keras model", "a PyTorch file"; "" for kOther
};
FileKind kind_of_file(const std::string& path);

}  // namespace dptrain
