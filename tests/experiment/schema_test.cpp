// Every key of a config has a description in the JSON Schema, which editors show.

#include <gtest/gtest.h>

#include <string>

#include "config/node.h"
#include "experiment/experiment.h"

namespace dptrain::experiment {
namespace {

using config::Node;

/// A reference to a key that is described elsewhere, or to a member of a family by its name.
bool is_reference_elsewhere(const Node& property) {
  const Node* reference = property.find("$ref");
  if (reference == nullptr) return false;
  const std::string definition = reference->str().substr(reference->str().rfind("$defs/") + 6);
  return definition.find("/properties/") != std::string::npos || definition.find('.') != std::string::npos;
}

/// Adds "layer.Conv2D: filters" for every key of `schema` that has no description of its own; `place` is the
/// definition or section that contains it.
void find_missing(const Node& schema, const std::string& place, std::string& missing) {
  for (const Node& item : schema.items()) find_missing(item, place, missing);
  for (const Node::Entry& entry : schema.entries()) {
    if (entry.key != "properties") {
      find_missing(entry.value, place == "$defs" || place.empty() ? entry.key : place, missing);
      continue;
    }
    for (const Node::Entry& property : entry.value.entries()) {
      const Node* text = property.value.find("description");
      if (text == nullptr && !is_reference_elsewhere(property.value)) missing += place + ": " + property.key + "\n";
      if (text != nullptr && text->str().ends_with('.') && !text->str().ends_with("..."))
        missing += place + ": " + property.key + " ends with a full stop\n";
      find_missing(property.value, place.empty() ? property.key : place, missing);
    }
  }
}

TEST(JsonSchema, EveryKeyHasADescription) {
  std::string missing;
  find_missing(json_schema(), "", missing);
  EXPECT_EQ(missing, "") << "Add .doc(\"...\") where the key is defined.";
}

}  // namespace
}  // namespace dptrain::experiment
