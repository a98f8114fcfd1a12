#pragma once

// init --from: looks at somebody's data and drafts a config that trains on them unedited. Main thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"

namespace dptrain::init {

struct DraftRequest {
  std::string path;                   ///< a file, or a folder
  std::string reference;              ///< the same as the config shall name it, relative to the config's folder
  std::string name;                   ///< of the experiment
  std::optional<std::string> target;  ///< the column to predict
};

struct Draft {
  std::string yaml;
  std::vector<std::string> said;  ///< what was seen, a line each
};

/// Throws Error{kData} for what cannot be read, Error{kUsage} for what is none of the kinds that it knows.
Draft draft_config(const DraftRequest& request);

Draft draft_table(const DraftRequest& request);
/// Class folders of photos.
Draft draft_photos(const DraftRequest& request);
/// Class folders of .txt files.
Draft draft_texts(const DraftRequest& request);
/// Class folders of clips.
Draft draft_clips(const DraftRequest& request);
/// An HDF5 file.
Draft draft_arrays(const DraftRequest& request);

/// Sub-folders by what they are for; "": there is none, and of `train` that the folder itself is it.
struct Roles {
  std::string train{}, validation{}, test{};
};
Roles roles_in(const std::string& folder);
/// Whether most files in the sub-folders are .txt files, and none is an image. Files next to the sub-folders, such as
/// LICENSE.txt, are ignored.
bool holds_texts(const std::string& folder);
/// A sub-folder's path.
std::string below(const std::string& folder, const std::string& name);
/// `data:` with what `set` writes for each role and its sub-folder; without one for validation a Split.
std::string sets_of_roles(const Roles& roles,
                          const std::function<std::string(const char* role, const std::string& name)>& set);
/// A data set as one for training, before anything is learned from it.
std::shared_ptr<const data::Source> open_train(config::Typed set);
std::string lowercase(std::string text);
/// "cat, dog, ..."
std::string some_names(std::vector<std::string> names);

/// A word as YAML has it, in quotes where it needs them.
std::string yaml_word(const std::string& word);
/// A word as a key of a YAML mapping. Unlike in values, `$` is not doubled.
std::string yaml_key(const std::string& name);
/// [a, b, "c d"]
std::string yaml_list(const std::vector<std::string>& words);

}  // namespace dptrain::init
