// Every registered layer has a form in Keras's files that reads back as the same layer, for any argument other than its
// default. New layers are tested automatically.

#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "formats/keras/keras_layer.h"
#include "nn/example.h"
#include "support/sanitizer.h"

namespace dptrain::formats {
namespace {

void add_words(const config::Node& schema, std::vector<std::string>& all) {
  if (const config::Node* words = schema.find("enum"))
    for (const config::Node& word : words->items()) all.push_back(word.str());
  if (const config::Node* choices = schema.find("anyOf"))
    for (const config::Node& choice : choices->items()) add_words(choice, all);
}

/// Valid values of some keys, as YAML; those of an enum are in its schema.
std::vector<std::string> candidates(const config::Field& field) {
  std::vector<std::string> all{"3",
                               "2",
                               "-1",
                               "0.5",
                               "0.25",
                               "true",
                               "false",
                               "[1]",
                               "[2]",
                               "[2, 1]",
                               "[2, 3]",
                               "[0.5]",
                               "ones",
                               "zeros",
                               "{L1L2: {l1: 0.5, l2: 0.25}}",
                               "{GRU: 3}",
                               "{LSTM: {units: 2, return_sequences: true}}"};
  add_words(field.schema(), all);
  return all;
}

bool takes(const config::Schema& schema, const config::Field& field, const std::string& value) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(value, "test.yaml", ".", diagnostics);
  config::Reader reader(diagnostics);
  return field.read(node, reader, schema.make().get()) && diagnostics.ok();
}

/// `Type: {...}` with a value for each required key, and `key: value`; no key if "".
std::string example_of(const config::TypeDef& type, const std::string& key, const std::string& value) {
  std::vector<std::string> arguments;
  for (const config::Field& field : type.schema.fields()) {
    if (field.name == key) arguments.push_back(key + ": " + value);
    if (field.name == key || !field.required) continue;
    for (const std::string& one : candidates(field))
      if (takes(type.schema, field, one)) {
        arguments.push_back(field.name + ": " + one);
        break;
      }
  }
  return type.name + ": {" + join(arguments, ", ") + "}";
}

std::string json_of(const config::Typed& layer) { return config::to_json(keras::layer_arguments(layer)); }

/// The layer read from a file's `config` and written again; "" for an error.
std::string read_and_written(const std::string& type, const std::string& text, std::vector<std::string>& errors) {
  config::Node node = config::Node::map();
  node.set(type, keras::layer_arguments(type, nlohmann::json::parse(text), false, errors));
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const config::Typed layer = nn::layer_family().read(node, reader);
  for (const config::Diagnostic& d : diagnostics.errors()) errors.push_back(d.message);
  return layer ? json_of(layer) : "";
}

void expect_form(const config::Typed& layer) {
  const std::string text = json_of(layer);
  const auto arguments = nlohmann::json::parse(text);
  ASSERT_TRUE(arguments.is_object()) << text;
  for (const config::Field& field : layer.def().schema.fields()) {
    const bool real =
        field.value == &config::kValueOperations<double> || field.value == &config::kValueOperations<float>;
    if (real && arguments.contains(field.name)) {
      EXPECT_TRUE(arguments.at(field.name).is_number_float()) << field.name << ": Keras 3 refuses an integer";
    }
  }
  if (keras::class_name(layer) != layer.name()) return;  // Input: the importer reads it differently
  std::vector<std::string> errors;
  EXPECT_EQ(read_and_written(layer.name(), text, errors), text);
  EXPECT_EQ(errors, std::vector<std::string>()) << text;
}

TEST(KerasRegistration, ReadsBackEveryLayer) {
  for (const config::TypeDef* type : nn::layer_family().types()) {
    const std::string yaml = example_of(*type, "", "");
    SCOPED_TRACE(yaml);
    expect_form(nn::layer_of(yaml));
  }
}

TEST(KerasRegistration, WritesEveryArgumentOfALayer) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "no threads";
  for (const config::TypeDef* type : nn::layer_family().types()) {
    const config::Typed plain = nn::layer_of(example_of(*type, "", ""));
    std::vector<std::string> ours = keras::layer_form(plain).ours;
    std::ranges::copy(keras::layer_form(plain).of_calls, std::back_inserter(ours));
    for (const config::Field& field : type->schema.fields()) {
      const bool left_out = std::find(ours.begin(), ours.end(), field.name) != ours.end();
      bool tried = false, written = false;
      for (const std::string& value : candidates(field)) {
        const std::string yaml = example_of(*type, field.name, value);
        const config::Typed layer = nn::read_layer(yaml).value;
        if (!layer) continue;
        SCOPED_TRACE(yaml);
        expect_form(layer);
        tried = tried || config::to_yaml(layer.write()) != config::to_yaml(plain.write());
        written = written || json_of(layer) != json_of(plain);
      }
      if (tried)
        EXPECT_NE(written, left_out) << type->name << ": " << field.name
                                     << (written ? " is written" : " is not written");
      else  // the other value of a boolean may be rejected
        EXPECT_EQ(field.value, &config::kValueOperations<bool>) << type->name << ": no candidate for " << field.name;
    }
  }
}

}  // namespace
}  // namespace dptrain::formats
