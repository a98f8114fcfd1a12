// The JSON Schema of configs agrees with the reader, as far as a schema can express its checks.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "config/bundled.h"
#include "config/diagnostics.h"
#include "config/source_text.h"
#include "core/text.h"
#include "data/encoders/encoder.h"
#include "data/sources/dataset.h"
#include "data/transform.h"
#include "experiment/experiment.h"
#include "experiment/key_reference.h"
#include "experiment/sections.h"
#include "nn/initializer.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "support/test_data.h"

namespace dptrain::train {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The part of draft 2020-12 that the schema uses; throws for other keywords.
class Validator {
 public:
  explicit Validator(const json& schema) : root_(schema) {}

  bool accepts(const json& value) const { return accepts(value, root_); }

 private:
  bool accepts(const json& value, const json& schema) const {
    for (const auto& [keyword, argument] : schema.items())
      if (!holds(value, keyword, argument, schema)) return false;
    return true;
  }

  int count(const json& value, const json& schemas) const {
    return static_cast<int>(
        std::count_if(schemas.begin(), schemas.end(), [&](const json& schema) { return accepts(value, schema); }));
  }

  static bool is_type(const json& value, const std::string& type) {
    if (type == "integer") return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
    if (type == "number") return value.is_number();
    return type == (value.is_number() ? "number" : value.type_name());
  }

  bool holds(const json& value, const std::string& keyword, const json& argument, const json& schema) const {
    static const std::set<std::string> notes{"$schema", "$defs", "title", "description", "default"};
    if (notes.contains(keyword) || keyword.starts_with("x-")) return true;
    if (keyword == "$ref") return accepts(value, root_.at(json::json_pointer(argument.get<std::string>().substr(1))));
    if (keyword == "anyOf") return count(value, argument) > 0;
    if (keyword == "oneOf") return count(value, argument) == 1;
    if (keyword == "allOf") return count(value, argument) == static_cast<int>(argument.size());
    if (keyword == "const") return value == argument;
    if (keyword == "enum") return std::find(argument.begin(), argument.end(), value) != argument.end();
    if (keyword == "type") {
      const json types = argument.is_array() ? argument : json::array({argument});
      return std::any_of(types.begin(), types.end(), [&](const json& type) { return is_type(value, type); });
    }
    if (keyword == "pattern")
      return !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(argument.get<std::string>()));
    if (keyword == "minimum") return !value.is_number() || value >= argument;
    if (keyword == "maximum") return !value.is_number() || value <= argument;
    if (keyword == "exclusiveMinimum") return !value.is_number() || value > argument;
    if (keyword == "exclusiveMaximum") return !value.is_number() || value < argument;
    if (keyword == "minItems") return !value.is_array() || value.size() >= argument;
    if (keyword == "maxItems") return !value.is_array() || value.size() <= argument;
    if (keyword == "minProperties") return !value.is_object() || value.size() >= argument;
    if (keyword == "maxProperties") return !value.is_object() || value.size() <= argument;
    if (keyword == "items")
      return !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const json& item) { return accepts(item, argument); });
    if (keyword == "required")
      return !value.is_object() ||
             std::all_of(argument.begin(), argument.end(), [&](const json& key) { return value.contains(key); });
    if (keyword == "properties" || keyword == "patternProperties" || keyword == "additionalProperties")
      return !value.is_object() || keyword != "additionalProperties" || members_fit(value, schema);
    throw std::logic_error("the validator does not know " + keyword);
  }

  /// Checks properties, patternProperties and additionalProperties together.
  bool members_fit(const json& value, const json& schema) const {
    const json none = json::object();
    const json& properties = schema.contains("properties") ? schema["properties"] : none;
    const json& patterns = schema.contains("patternProperties") ? schema["patternProperties"] : none;
    const json& others = schema["additionalProperties"];
    for (const auto& [key, member] : value.items()) {
      bool known = properties.contains(key);
      if (known && !accepts(member, properties[key])) return false;
      for (const auto& [pattern, inner] : patterns.items()) {
        if (!std::regex_search(key, std::regex(pattern))) continue;
        known = true;
        if (!accepts(member, inner)) return false;
      }
      if (!known && (others.is_object() ? !accepts(member, others) : others == false)) return false;
    }
    return true;
  }

  const json& root_;
};

const json& schema() {
  static const json schema = json::parse(config::to_json(experiment::json_schema()));
  return schema;
}

/// The file as JSON, as an editor validates it; null if it is not YAML.
json as_json(const std::string& text) {
  config::Diagnostics diagnostics;
  const auto source = config::SourceText::check(text, "config.yaml", "", diagnostics);
  if (!source) return {};
  const config::Node tree = config::parse_yaml(*source, diagnostics);
  return diagnostics.ok() ? json::parse(config::to_json(tree)) : json();
}

TEST(ConfigSchema, IsSmallEnoughForAnEditor) { EXPECT_LE(config::to_json(experiment::json_schema()).size(), 360'000U); }

TEST(ConfigSchema, DescribesEveryKey) {
  int count = 0;
  const std::function<void(const json&, const std::string&)> visit = [&](const json& at, const std::string& path) {
    if (at.is_object() && at.contains("properties") && at["properties"].is_object())
      for (const auto& [key, property] : at["properties"].items()) {
        const std::string reference = property.value("$ref", "");
        const bool elsewhere = reference.find('.') != std::string::npos || reference.starts_with("#/$defs/any/");
        if (elsewhere) continue;  // described where it is defined
        ++count;
        const std::string text = property.value("description", "");
        EXPECT_NE(text, "") << path << "." << key << " has no .doc(...)";
        EXPECT_TRUE(!text.ends_with('.') || text.ends_with("...")) << path << "." << key << " ends with a full stop";
      }
    if (at.is_structured())
      for (const auto& [key, part] : at.items()) visit(part, path + "." + key);
  };
  visit(schema(), "");
  EXPECT_GT(count, 400);
}

TEST(ConfigSchema, AcceptsEveryShippedConfig) {
  for (const config::BundledFile& file : config::bundled_configs())
    EXPECT_TRUE(Validator(schema()).accepts(as_json(std::string(file.text)))) << file.name;
}

TEST(ConfigSchema, AcceptsEveryFormOfAType) {
  const json config = as_json(R"(
dptrain: 1
model: {layers: [{Input: [4]}, {Dense: {units: 3, activation: softmax, kernel_initializer: he_normal}}]}
data: {train: {Synthetic: {samples: 12}}}
train: {epochs: 1, batch_size: 4, loss: mse, optimizer: {adam: {learning_rate: 1e-3}}, metrics: [acc]}
)");
  EXPECT_TRUE(Validator(schema()).accepts(config));
}

TEST(ConfigSchema, RejectsInvalidValues) {
  std::set<std::string> accepted;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data("e2e/wrong_configs"))) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    ++count;
    if (Validator(schema()).accepts(as_json(text.str()))) accepted.insert(entry.path().stem().string());
  }
  EXPECT_GT(count, 90);
  // A schema cannot express shapes, names of other places, arithmetic, units, flags, files.
  const std::set<std::string> beyond_a_schema{"add_of_different_shapes",
                                              "add_of_one",
                                              "block_of_itself",
                                              "block_with_an_unknown_parameter",
                                              "block_without_its_parameter",
                                              "boundaries_without_values",
                                              "buckets_in_order",
                                              "buckets_without_lengths",
                                              "concatenate_of_different_sizes",
                                              "convolution_of_a_row",
                                              "dice_of_the_batch",
                                              "division_by_zero",
                                              "error_inside_a_block",
                                              "flip_with_labels_of_positions",
                                              "fraction_for_seed",
                                              "freeze_matches_nothing",
                                              "groups_do_not_divide",
                                              "ignored_class_of_a_part",
                                              "ignored_class_of_values",
                                              "ignored_classes_that_differ",
                                              "later_step",
                                              "logits_taken_for_probabilities",
                                              "mean_squared_error_of_classes",
                                              "missing_file",
                                              "mixed_class_numbers",
                                              "more_weights_than_replicas",
                                              "no_input",
                                              "one_class",
                                              "output_called_val",
                                              "parameters_that_double",
                                              "patches_do_not_divide",
                                              "plateau_with_a_schedule",
                                              "preprocess_of_gray",
                                              "quoted_number",
                                              "random_evaluation",
                                              "reshape_to_another_size",
                                              "same_name_twice",
                                              "scaled_inputs_that_are_labels",
                                              "scaling_without_a_reference",
                                              "set_of_an_unknown_key",
                                              "set_through_a_number",
                                              "shards_and_auto",
                                              "shards_and_bfloat16",
                                              "shards_and_micro_batches",
                                              "shards_and_split",
                                              "shards_normalised_together",
                                              "shards_not_a_power_of_two",
                                              "shared_on_two_shapes",
                                              "shuffle_half",
                                              "softmax_and_from_logits",
                                              "split_of_nothing",
                                              "strides_and_dilation",
                                              "time_in_steps",
                                              "transformer_of_an_image",
                                              "two_clips",
                                              "two_inputs_for_dense",
                                              "two_nameless_best_files",
                                              "unknown_output",
                                              "unknown_step",
                                              "unknown_variable",
                                              "var_of_nothing",
                                              "variables_that_double",
                                              "watchdog_in_steps",
                                              "watchdog_of_nothing",
                                              "weights_in_no_folder",
                                              "weights_missing",
                                              "weights_nothing_like_it",
                                              "weights_of_a_folder",
                                              "weights_of_nothing",
                                              "window_larger_than_input",
                                              "wrong_duration"};
  EXPECT_EQ(accepted, beyond_a_schema);
}

// The reference of keys (experiment/key_reference.h) is made from the schema.

std::string page(const std::string& file) {
  for (const experiment::ReferencePage& page : experiment::key_reference())
    if (page.file == file) return page.text;
  ADD_FAILURE() << "no page " << file;
  return "";
}

/// The part of a page below a heading.
std::string part(const std::string& file, const std::string& heading) {
  const std::string text = page(file);
  const std::size_t begin = text.find("\n## " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

TEST(KeyReference, NamesTypeRangeDefaultAndMeaning) {
  EXPECT_THAT(part("optimizers.md", "Adam"),
              HasSubstr("| `learning_rate` * | number or [schedule](schedules.md) | `0.001` | "));
  EXPECT_THAT(part("optimizers.md", "Adam"), HasSubstr("| `use_ema` | boolean | `false` | whether "));
  EXPECT_THAT(part("layers.md", "Dense"),
              AllOf(HasSubstr("| `kernel_initializer` | [initializer](initializers.md) | `GlorotUniform` | "),
                    HasSubstr("| `kernel_regularizer` | [regularizer](regularizers.md) | none | "),
                    HasSubstr("| `activation` | [activation](../layers.md#activations) | `linear` | ")));
  EXPECT_THAT(part("losses.md", "BinaryCrossentropy"), HasSubstr("Also: `binary_crossentropy`"));
  EXPECT_THAT(part("sections.md", "train"), HasSubstr("| `log_every` | number with a unit | `50 steps` | "));
  EXPECT_THAT(part("sections.md", "train"), HasSubstr("| `epochs` | integer >= 1 or none | required, or `steps` | "));
  EXPECT_THAT(page("layers.md"), HasSubstr("| `inputs` | text or list of text |  | ")) << "its text has the default";
}

TEST(KeyReference, HasLimitsNextToReferences) {
  EXPECT_THAT(part("layers.md", "Dropout"), HasSubstr("| `rate` * | number >= 0 and < 1 | required | "));
  EXPECT_THAT(part("sections.md", "parallel"), HasSubstr("| `virtual_shards` | integer >= 2 and <= 1024 or none | "));
  EXPECT_THAT(part("sections.md", "gates"), HasSubstr("| `drop` | number > 0 and < 1 or none | "));
}

TEST(KeyReference, MarksPositionalKeysAndNamesAliases) {
  EXPECT_THAT(page("layers.md"), HasSubstr("`Type: value` sets the key that is marked with \\*."));
  EXPECT_THAT(part("layers.md", "Dense"), HasSubstr("| `units` * | integer >= 1 | required | number of outputs |"));
  EXPECT_THAT(part("layers.md", "LeakyReLU"), HasSubstr("| `negative_slope` * (also `alpha`) | "));
  EXPECT_THAT(part("layers.md", "LeakyReLU"), Not(HasSubstr("| `alpha` | ")));
  EXPECT_THAT(part("sections.md", "model.weights"), HasSubstr("| `file` * | "));
}

TEST(KeyReference, HasATextForEveryTypeAndKey) {
  int types = 0, keys = 0;
  for (const auto& [file, text] : experiment::key_reference()) {
    const std::vector<std::string> lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      if (line.starts_with("## ") && !line.starts_with("## Test")) {  // layers of other tests, if one program has all
        ++types;
        const std::string below = i + 2 < lines.size() ? lines[i + 2] : "";
        const bool is_text =
            !below.empty() && !below.starts_with("| ") && !below.starts_with("Also: ") && below != "No keys.";
        EXPECT_TRUE(is_text) << file << ": " << line << " has no .doc(...)";
      } else if (line.starts_with("| `")) {
        ++keys;
        EXPECT_FALSE(line.ends_with("|  |")) << file << ": no .doc(...) in " << line;
      }
      EXPECT_EQ(line.find(".<"), std::string::npos) << file << ": GitHub removes the tag in " << line;
    }
  }
  EXPECT_GT(types, 250);
  EXPECT_GT(keys, 900);
}

TEST(KeyReference, HasATablePerSectionAndChoice) {
  EXPECT_THAT(part("sections.md", "data.loader.cache"), AllOf(HasSubstr("| `memory` | "), HasSubstr("| `disk` | ")));
  EXPECT_THAT(part("sections.md", "gates.metrics.NAME"), HasSubstr("| `at_least` | "));
  EXPECT_THAT(part("sections.md", "train.on_nonfinite.skip_step"), HasSubstr("| `at_most` * | integer >= 1 | `10` | "));
  EXPECT_THAT(part("sections.md", "model.weights"), HasSubstr("| `skip_mismatch` | "));
}

TEST(KeyReference, HasEveryTypeOfTheFamilies) {
  for (const auto& [file, names] :
       std::map<std::string, std::vector<std::string>>{{"layers.md", nn::layer_family().names()},
                                                       {"initializers.md", nn::initializer_family().names()},
                                                       {"regularizers.md", nn::regularizer_family().names()},
                                                       {"encoders.md", data::encoder_family().names()},
                                                       {"callbacks.md", experiment::callback_family().names()},
                                                       {"optimizers.md", nn::optimizer_family().names()},
                                                       {"losses.md", nn::loss_family().names()},
                                                       {"metrics.md", nn::metric_family().names()},
                                                       {"schedules.md", nn::schedule_family().names()},
                                                       {"datasets.md", data::dataset_family().names()},
                                                       {"transforms.md", data::transform_family().names()}}) {
    const std::string text = page(file);
    for (const std::string& name : names) EXPECT_THAT(text, HasSubstr("\n## " + name + "\n")) << file;
  }
}

}  // namespace
}  // namespace dptrain::train
