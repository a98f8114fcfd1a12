#pragma once

// init --from: looks at somebody's data and drafts a config that trains on them unedited. Main thread.

#include <optional>
#include <string>
#include <vector>

namespace dptrain::cli {

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

/// A word as YAML has it, in quotes where it needs them.
std::string yaml_word(const std::string& word);
/// [a, b, "c d"]
std::string yaml_list(const std::vector<std::string>& words);

}  // namespace dptrain::cli
