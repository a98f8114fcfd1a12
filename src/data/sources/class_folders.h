#pragma once

// What data sets of one sub-folder per class share: which folders are the classes, what lies in them that is no sample,
// and whether they fit the model.

#include <cstdint>
#include <string>
#include <vector>

#include "data/images/image.h"

namespace dptrain::data {

/// For messages: "one folder of images per class, as in flowers/cats/1.jpg".
struct ClassFolderWords {
  const char* what;
  const char* example;
};
/// The classes in order: `class_names`, which must be the folders that are there, or all folders, sorted by bytes.
/// Throws Error{kData}.
std::vector<std::string> class_folders(const std::string& directory, const std::vector<std::string>& class_names,
                                       const ClassFolderWords& words);

/// More classes than outputs is Error{kData}; fewer are suspicious, and warned about.
void compare_with_model(const std::string& directory, std::size_t classes, const ModelSide& model);
/// No transform changes the channels, so a model whose input of `rank` axes wants others shows before the first file is
/// read. Throws Error{kUsage}.
void check_channels(ColorMode color, const char* what, int rank, const ModelSide& model);

/// Files that programs and people leave beside samples, as Windows its Thumbs.db: passed over, and told.
class Strays {
 public:
  /// Whether the name's suffix is none of those.
  bool wants(const char* name);
  /// This name is passed over.
  void add(const char* name);
  /// One warning for all: "3 files are no `what` by the name".
  void tell(const std::string& directory, const char* what) const;

 private:
  std::int64_t count_ = 0;
  std::string first_;
};

}  // namespace dptrain::data
