#pragma once

// What data sets of one sub-folder per class share: which folders are the classes, what lies in them that is no sample,
// whether they fit the model, and a Source's answers about labels.

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

/// Samples by class: class k has those from ends[k - 1] on, below ends[k].
struct ClassSamples {
  std::vector<std::string> names;
  std::vector<std::int64_t> ends;  ///< none: no labels
};
/// `add` puts the samples below a class folder on a list and gives the list's new size. Then `strays`, no `kind` by the
/// name, are told. A class without a `what` is warned about; none at all is Error{kData}.
ClassSamples class_samples(const std::string& directory, std::vector<std::string> classes, const char* what,
                           const char* kind, const Strays& strays,
                           const std::function<std::int64_t(const std::string& folder)>& add);

/// One unnamed input, and the class as the label.
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
  /// fingerprint() becomes "kind:samples:classes:channels:hash", the last of `samples_hash` and where classes end.
  void set_fingerprint(const char* kind, std::int64_t channels, std::uint64_t samples_hash);

 private:
  ClassSamples classes_;
  std::shared_ptr<BadSamples> bad_;
  std::string fingerprint_;
};

/// A folder without a config: class folders, or, without sub-folders, files that `open_loose` opens without labels.
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
