#pragma once

// Data sets with one sub-folder per class: class names, skipped files, checks against the model, and the base class
// ClassSource, which returns the labels.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/images/image.h"
#include "data/source.h"
#include "data/sources/file_list.h"

namespace dptrain::data {

/// Parts of messages: "one folder of `what` per class, as in flowers/cats/`example`".
struct ClassFolderMessages {
  const char* what;
  const char* example;
};
/// Class names in order: `class_names`, or if empty all sub-folders sorted by bytes. Throws Error{kData} if
/// `class_names` and the sub-folders differ.
std::vector<std::string> class_folders(const std::string& directory, const std::vector<std::string>& class_names,
                                       const ClassFolderMessages& messages);

/// Throws Error{kData} for more classes than outputs. Fewer are a warning.
void compare_with_model(const std::string& directory, std::size_t classes, const ModelSide& model);
/// Throws Error{kUsage} if the model's only input has `rank` axes and requires another color mode. No transform changes
/// the channels.
void check_channels(ColorMode color, const char* what, int rank, const ModelSide& model);

/// Counts files that are not samples, such as Thumbs.db or notes.txt, and warns about them.
class IgnoredFiles {
 public:
  /// Returns false for a name with a suffix such as .txt or .db, and counts it.
  bool accepts(const char* name);
  /// Counts a skipped file.
  void add(const char* name);
  /// Logs one warning for all skipped files. `what`: the expected kind, "image".
  void log_warning(const std::string& directory, const char* what) const;

 private:
  std::int64_t count_ = 0;
  std::string first_;
};

/// Samples by class: class k has the samples ends[k - 1] to ends[k] - 1.
struct ClassSamples {
  std::vector<std::string> names;
  std::vector<std::int64_t> ends;  ///< none: no labels
};
/// Calls `add` for each class folder. It appends the folder's samples to a list and returns the list's new size. Then
/// warns about `ignored_files` and about classes without samples. Throws Error{kData} if there is no sample at all.
/// `what` and `kind` name a sample in messages.
ClassSamples class_samples(const std::string& directory, std::vector<std::string> classes, const char* what,
                           const char* kind, const IgnoredFiles& ignored_files,
                           const std::function<std::int64_t(const std::string& folder)>& add);

/// Base class of sources with one unnamed input and the class as the label. Immutable once constructed.
class ClassSource : public Source {
 public:
  int inputs() const final { return 1; }
  std::string input_name(int) const final { return ""; }
  std::shared_ptr<BadSamples> bad_samples() const final { return bad_; }

  LabelType label_type(int) const final { return classes_.ends.empty() ? LabelType::kNone : LabelType::kClass; }
  std::int64_t label_width(int) const final { return 1; }
  std::int64_t label_class(std::int64_t index, int which) const final;
  void label_values(std::int64_t index, float* out, int which) const final;
  std::vector<std::string> class_names(int) const final { return classes_.names; }
  std::string fingerprint() const final { return fingerprint_; }

 protected:
  ClassSource(ClassSamples classes, std::shared_ptr<BadSamples> bad)
      : classes_(std::move(classes)), bad_(std::move(bad)) {}
  /// Sets fingerprint() to "kind:samples:classes:channels:hash". The hash covers `samples_hash` and the class sizes.
  void set_fingerprint(const char* kind, std::int64_t channels, std::uint64_t samples_hash);

 private:
  ClassSamples classes_;
  std::shared_ptr<BadSamples> bad_;
  std::string fingerprint_;
};

/// Opens a folder without a config: its class folders, or with `open_loose` if it has no sub-folders.
template <class Spec, class OpenLoose>
std::shared_ptr<const Source> open_folder_as(const std::string& path, const OpenLoose& open_loose) {
  std::int64_t files_beside = 0;
  Spec spec;
  spec.on_error.skip = true;
  if (sub_folders(path, files_beside).empty()) return open_loose({path}, spec);
  spec.directory.value = path;
  return open_sources({.train = config::Of<dataset_family>(spec), .validation = {}, .test = {}}, {}, 0).train;
}

}  // namespace dptrain::data
