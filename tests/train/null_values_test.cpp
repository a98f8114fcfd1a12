// A key without a value (`optimizer:`) is an error or means the default; it never crashes the program.

#include <gtest/gtest.h>

#include "config/bundled.h"
#include "config/reader.h"
#include "core/error.h"
#include "data/source.h"
#include "data/transform.h"
#include "experiment/sections.h"
#include "nn/initializer.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "session/dry_plan.h"
#include "support/sanitizer.h"

namespace dptrain::train {
namespace {

using config::Node;

/// Loads and plans as `check` does.
void load_and_plan(const Node& whole) {
  try {
    const experiment::Experiment experiment = experiment::load_experiment_text(config::to_yaml(whole), "net.yaml", {});
    session::DryPlan plan;
    make_dry_plan(experiment, {.replicas = 1, .threads = 1}, {}, plan);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::kUsage || error.kind() == ErrorKind::kMemory) << error.what();
    EXPECT_NE(std::string(error.what()).find("error: "), std::string::npos) << error.what();
  }
}

/// Omits each value of `at`, a part of `whole`, once. Returns the number of values.
int without_each_value(const Node& whole, Node& at, const std::string& path) {
  int count = 0;
  const auto without = [&](Node& value, const std::string& name) {
    SCOPED_TRACE(name);
    const Node kept = value;
    value = Node();
    load_and_plan(whole);
    value = kept;
    count += 1 + without_each_value(whole, value, name);
  };
  for (Node::Entry& entry : at.entries()) without(entry.value, path + "." + entry.key);
  for (std::size_t i = 0; i < at.items().size(); ++i) without(at.items()[i], path + "." + std::to_string(i));
  return count;
}

TEST(NullValues, AnywhereInShippedConfigsAreErrorsOrDefaults) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "one thread; a minute";
  int count = 0;
  for (const config::BundledFile& file : config::bundled_configs()) {
    if (file.name != "fashion_mnist.yaml" && file.name != "flowers_cnn.yaml") continue;
    SCOPED_TRACE(file.name);
    const experiment::Experiment experiment =
        experiment::load_experiment_text(std::string(file.text), std::string(file.name), {});
    Node whole = resolved(experiment);
    count += without_each_value(whole, whole, "");
  }
  EXPECT_GT(count, 300);
}

TEST(NullValues, OfEveryArgumentOfEveryType) {
  int count = 0;
  for (const config::Family* family :
       {&nn::layer_family(), &nn::initializer_family(), &nn::regularizer_family(), &nn::optimizer_family(),
        &nn::schedule_family(), &nn::loss_family(), &nn::metric_family(), &data::transform_family(),
        &data::dataset_family(), &experiment::callback_family(), &experiment::nonfinite_family()})
    for (const config::TypeDef* type : family->types())
      for (const config::Field& field : type->schema.fields()) {
        SCOPED_TRACE(type->name + "." + field.name);
        ++count;
        Node arguments = Node::map(), value = Node::map();
        arguments.set(field.name, Node());
        value.set(type->name, std::move(arguments));
        config::Diagnostics diagnostics;
        config::Reader reader(diagnostics);
        const config::Typed read = family->read(value, reader);
        EXPECT_EQ(static_cast<bool>(read), diagnostics.ok());
        if (read) {
          EXPECT_FALSE(config::to_yaml(read.write()).empty());
        }
      }
  EXPECT_GT(count, 300);
}

TEST(NullValues, NamesKeysWithoutAValue) {
  const char* text =
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, kernel_initializer: }}]}\n"
      "data: {train: {Synthetic: {samples: 12}}}\n"
      "train: {epochs: 2, batch_size: 3, loss: sparse_categorical_crossentropy, optimizer: }\n";
  try {
    experiment::load_experiment_text(text, "net.yaml", {});
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("kernel_initializer must be an initializer, such as"), std::string::npos) << message;
    EXPECT_NE(message.find("optimizer must be an optimizer, such as"), std::string::npos) << message;
    EXPECT_NE(message.find("found nothing"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace dptrain::train
