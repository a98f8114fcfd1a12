// Every word of the table of synonyms, used in its context: a config, a command or a flag. The message must contain the
// answer.

#include "config/synonyms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "cli/app.h"
#include "cli/commands.h"
#include "core/error.h"
#include "core/format.h"
#include "data/source.h"
#include "data/transform.h"
#include "experiment/experiment.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"

namespace dptrain::config {
namespace {

using testing::HasSubstr;

/// A config with {} in place of the word.
struct Place {
  std::string context, text;
};

std::string in_layers(const std::string& step) { return "model: {layers: [{Input: [8, 8, 3]}, " + step + "]}\n"; }
std::string in_train(const std::string& keys) {
  return in_layers("{Dense: 1}") + "train: {epochs: 1, batch_size: 2, " + keys + "}\n";
}
std::string in_data(const std::string& keys) { return in_layers("{Dense: 1}") + "data: {" + keys + "}\n"; }

const std::vector<Place>& places() {
  static const std::vector<Place> all{
      {"layer", in_layers("{{}: {}}")},
      {"optimizer", in_train("loss: mse, optimizer: {}")},
      {"learning-rate schedule", in_train("loss: mse, optimizer: {Adam: {learning_rate: {{}: {}}}}")},
      {"loss", in_train("loss: {}")},
      {"metric", in_train("loss: mse, metrics: [{}]")},
      {"callback", in_layers("{Dense: 1}") + "callbacks: [{}]\n"},
      {"transform", in_data("transforms: [{}]")},
      {"data set", in_data("train: {{}: {}}")},
      {"config", in_layers("{Dense: 1}") + "{}: 1\n"},
      {"train", in_train("loss: mse, {}: 1")},
      {"data", in_data("{}: 1")},
      {"loader", in_data("loader: {{}: 1}")},
      {"runtime", in_layers("{Dense: 1}") + "runtime: {{}: 1}\n"},
      {"model", "model: {{}: 1, layers: [{Input: [8]}, {Dense: 1}]}\n"},
      {"=padding", in_layers("{Conv2D: {filters: 1, kernel_size: 3, padding: {}}}")},
      {"=activation", in_layers("{Dense: {units: 1, activation: {}}}")},
      {"=dtype_policy", in_train("loss: mse, dtype_policy: {}")},
  };
  return all;
}

std::string with(std::string text, const std::string& typed) { return text.replace(text.find("{}"), 2, typed); }

/// The text with an argument of this type: in the config of its family, "{}" becomes `Type: {argument: 1}`.
std::string argument_of(const std::string& family, const std::string& type) {
  const auto place = std::ranges::find(places(), family, &Place::context);
  std::string text = place->text;
  if (const std::size_t map = text.find("{{}: {}}"); map != std::string::npos) text.replace(map, 8, "{}");
  return with(text, fmt::format("{{{}: {{{{}}: 1}}}}", type));
}

const std::vector<const Family*>& families() {
  static const std::vector<const Family*> all{
      &nn::layer_family(),  &nn::optimizer_family(),        &nn::schedule_family(),    &nn::loss_family(),
      &nn::metric_family(), &experiment::callback_family(), &data::transform_family(), &data::dataset_family()};
  return all;
}

/// The configs with a word of this context in place of "{}".
std::vector<std::string> texts_for(const std::string& context) {
  std::vector<std::string> texts;
  for (const Place& place : places())
    if (place.context == context) texts.push_back(place.text);
  for (const Family* family : families())
    for (const TypeDef* type : family->types()) {
      const bool has =
          std::ranges::any_of(type->schema.fields(), [&](const Field& field) { return "." + field.name == context; });
      const bool any_layer = context == ".inputs" && type->name == "Dense";
      if (type->name == context || has || any_layer) texts.push_back(argument_of(family->what(), type->name));
    }
  return texts;
}

std::string message_of(const std::string& config) {
  try {
    experiment::load_experiment_text("dptrain: 1\n" + config, "typed.yaml", {});
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// Replaces '#' by the digit 2.
std::string plain(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '#', '2');
  return out;
}

bool is_of_command_line(const Synonym& row) { return row.context == "command" || row.word.starts_with('-'); }

TEST(Synonyms, AnswersWordsOfConfigs) {
  for (const Synonym& row : synonyms()) {
    if (is_of_command_line(row)) continue;
    const std::string word = plain(row.word);
    std::string answer = plain(row.answer);
    answer = answer.find(' ') == std::string::npos ? "call it '" + answer + "'" : "; " + answer;
    bool answered = false;
    for (const std::string& text : texts_for(std::string(row.context))) {
      const std::string message = message_of(with(text, word));
      EXPECT_NE(message, "accepted") << word << " in " << row.context;
      answered = answered || message.find(answer) != std::string::npos;
      if (!row.context.starts_with('.')) {
        EXPECT_THAT(message, HasSubstr(answer)) << word << " in " << row.context;
      }
    }
    EXPECT_TRUE(answered) << word << " in " << row.context << ": no message has '" << answer << "'";
  }
}

TEST(Synonyms, AnswersCommandsAndFlags) {
  for (const Synonym& row : synonyms()) {
    if (!is_of_command_line(row)) continue;
    const std::string word(row.word);
    std::string message = "accepted";
    std::optional<std::string> known;
    try {
      cli::App app;
      if (row.context == "command") {
        cli::add_commands(app);
        const std::array<const char*, 2> words{"dptrain", word.c_str()};
        testing::internal::CaptureStderr();
        EXPECT_EQ(app.run(2, words.data()), 2);
        message = testing::internal::GetCapturedStderr();
      } else {
        app.command("fit", "").option(std::string(row.context.substr(1)), "X", known, "").parse({word, "3"});
      }
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_THAT(message, HasSubstr(std::string(row.answer))) << word;
  }
}

TEST(Synonyms, AreNotWordsOfDptrain) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Synonym& row : synonyms()) {
    EXPECT_TRUE(seen.emplace(row.word, row.context).second) << row.word << " in " << row.context << " twice";
    EXPECT_FALSE(row.answer.empty()) << row.word;
    for (const Family* family : families()) {
      if (family->what() != row.context) continue;
      EXPECT_EQ(family->find(plain(row.word)), nullptr) << row.word;
    }
  }
}

struct Typed {
  std::string config, message;
};

/// Forms without a row in the table: prefixes, calls, tuples, several words.
TEST(Synonyms, AreFoundInOtherForms) {
  const std::vector<Typed> all{
      {in_train("loss: nn.CrossEntropyLoss()"), "write categorical_crossentropy after a softmax"},
      {in_layers("nn.Linear: 3"), "Keras and dptrain call it 'Dense'"},
      {in_layers("{keras.layers.Dense: 3}"), "unknown layer 'keras.layers.Dense'; write 'Dense'"},
      {in_layers("{Dense: {units: 3, activation: tf.nn.relu}}"), "write 'relu'"},
      {in_layers("{Dense: {units: 3, activation: F.ReLU}}"), "did you mean 'relu'?"},
      {in_layers("{Dense: {units: 3, kernel_regularizer: l2(0.01)}}"), "arguments are a mapping: {L2: 0.01}"},
      {in_layers("{Dense: {units: 3, kernel_regularizer: l1_l2(l1=0.1, l2=0.2)}}"), "{L1L2: {l1: 0.1, l2: 0.2}}"},
      {in_train("loss: mse, optimizer: Adam(lr=0.1)"), "arguments are a mapping: {Adam: {lr: 0.1}}"},
      {in_train("loss: {CrossEntropyLoss: {weight: 2}}"), "write categorical_crossentropy after a softmax"},
      {"model: {layers: [{Input: {shape: (28, 28, 1)}}, {Dense: 1}]}\n",
       "'(28, 28, 1)' is not a list in YAML; write [28, 28, 1]"},
      {"model:\n  layers:\n    - Input: (28, 28, 1)\n    - Dense: 1\n", "if it is a list, write [28, 28, 1]"},
      {in_layers("{Conv2D: {filters: 1, kernel_size: \"3x3\"}}"), "if it is a list, write [3, 3]"},
      {in_layers("{Conv2D: {out_channels: 1, kernel: 3}}"), "Keras and dptrain call it 'kernel_size'"},
      {"model: {layers: [{Input: [1, 28, 28]}, {Conv2D: {filters: 3, kernel_size: 3}}]}\n",
       "window 3x3 is larger than the input 1x28; channels come last: did you mean [28, 28, 1]?"},
      {in_layers("{Dense: 1}") + "gates: {metrics: {accuracy: 0.9}}\n", "a mapping such as {at_least: 0.9}"},
      {in_train("loss: mse, zzz: 1"), "unknown key 'zzz'; expected one of epochs, steps, batch_size"},
      {in_train("loss: qqq"),
       "expected one of binary_crossentropy, binary_focal_crossentropy, categorical_crossentropy,"},
      {in_train("loss: mse, metrics: [qqq]"), "expected one of auc, accuracy,"},
  };
  for (const Typed& one : all) EXPECT_THAT(message_of(one.config), HasSubstr(one.message)) << one.config;
  EXPECT_THAT(message_of("model: {layers: [{Input: {shape: (28, 28, 1)}}, {Dense: 1}]}\n"), HasSubstr("\n1 error;"));
  EXPECT_THAT(message_of(in_layers("{Conv2D: {out_channels: 1, kernel: 3}}")), HasSubstr("\n2 errors;"));
  try {
    experiment::load_experiment_text(in_layers("{Dense: 1}"), "typed.yaml", {});
    ADD_FAILURE() << "a config without its version";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing key 'dptrain'; begin the file with 'dptrain: 1'"));
  }
}

TEST(Synonyms, AreFoundInSet) {
  const std::string config = "dptrain: 1\n" + in_train("loss: mse, optimizer: {Adam: {learning_rate: 0.1}}");
  const std::vector<Typed> all{
      {"train.lr=3", "train.optimizer.learning_rate"},
      {"train.optimizer.lr=3", "Keras and dptrain call it 'learning_rate'"},
      {"lr=3", "train.optimizer.learning_rate"},
      {"train.optimizer.SGD.momentum=0.9",
       "the optimizer is Adam; replace it as a whole: --set 'train.optimizer={SGD: {...}}'"},
      {"model.layers.dense.units=3", "write the index, model.layers.1"},
  };
  for (const Typed& one : all) {
    experiment::Overrides overrides;
    overrides.sets = {one.config};
    try {
      experiment::load_experiment_text(config, "typed.yaml", overrides);
      ADD_FAILURE() << one.config;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(one.message)) << one.config;
    }
  }
}

}  // namespace
}  // namespace dptrain::config
