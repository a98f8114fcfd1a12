#pragma once

// The reference of all keys of a config as Markdown, made from its JSON Schema (`dptrain config --reference DIR`, the
// pages of docs/reference/keys). Pure function, any thread.

#include <string>
#include <vector>

namespace dptrain::experiment {

struct ReferencePage {
  std::string file;  ///< "optimizers.md"
  std::string text;
};

/// A page of the sections and one of each family of types: a table of keys per section and per type.
std::vector<ReferencePage> key_reference();

}  // namespace dptrain::experiment
