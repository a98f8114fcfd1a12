#pragma once

// init --from: inspects a user's data and drafts a config that trains on it without edits. Main thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/family.h"
#include "data/source.h"

namespace dptrain::init {

struct DraftRequest {
  std::string path;                   ///< a file, or a folder
  std::string reference;              ///< the path as written in the config, relative to the config's folder
  std::string name;                   ///< experiment name
  std::optional<std::string> target;  ///< the column to predict
};

struct Draft {
  std::string yaml;
  std::vector<std::string> findings;  ///< one line each
};

/// Throws Error{kData} for unreadable data, Error{kUsage} for an unsupported kind of data.
Draft draft_config(const DraftRequest& request);

Draft draft_table(const DraftRequest& request);
/// Class folders of photos, .txt files or clips.
Draft draft_photos(const DraftRequest& request);
Draft draft_texts(const DraftRequest& request);
Draft draft_clips(const DraftRequest& request);
/// A folder of photos and a folder of masks.
Draft draft_masks(const DraftRequest& request);
/// An HDF5 file.
Draft draft_arrays(const DraftRequest& request);

/// Sub-folders by role; "": missing, or for `train` the folder itself.
struct Roles {
  std::string train{}, validation{}, test{};
};
Roles roles_in(const std::string& folder);
/// Whether most files in the sub-folders are .txt files and none is an image. Files next to sub-folders are ignored.
bool has_texts(const std::string& folder);
/// Whether the folder of the training set has a sub-folder of photos and one of their masks.
bool has_masks(const std::string& folder);
/// Path of a sub-folder; `folder` itself if `name` is empty.
std::string below(const std::string& folder, const std::string& name);
/// The section `data:` with the text of `set` for each role; a Split if there is no folder for validation.
std::string sets_of_roles(const Roles& roles,
                          const std::function<std::string(const char* role, const std::string& name)>& set);
/// Opens a data set as the training set of a config with no other.
std::shared_ptr<const data::Source> open_train(config::Typed set);
/// Opens the folder of the training set.
template <class Spec>
std::shared_ptr<const data::Source> open_folder(const DraftRequest& request, const Roles& roles, Spec spec = {}) {
  spec.directory.value = below(request.path, roles.train);
  spec.on_error.skip = true;
  return open_train(data::dataset_family().make(std::move(spec)));
}
/// "photos/train: 20 photos of 2 classes: cat, dog"
std::string found_classes(const std::string& path, const data::Source& source, const char* what);
std::string lowercase(std::string text);
/// "cat, dog, ..."
std::string some_names(std::vector<std::string> names);

/// A word in YAML, quoted if necessary.
std::string yaml_word(const std::string& word);
/// A word as a key of a YAML mapping. Unlike in values, `$` is not doubled.
std::string yaml_key(const std::string& name);
/// [a, b, "c d"]
std::string yaml_list(const std::vector<std::string>& words);

}  // namespace dptrain::init
