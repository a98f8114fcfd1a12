// Results of an evaluation: losses of samples with the mean of training logs, confusions, worst samples, files.

#include "evaluation/evaluation_result.h"

#include <cmath>

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "evaluation/evaluation_files.h"
#include "evaluation/gates.h"
#include "session/session.h"
#include "support/folder.h"
#include "train/line_file.h"

namespace dptrain::evaluation {
namespace {

constexpr const char* kThreeOutputs = R"(dptrain: 1
name: three
model:
  layers:
    - Input: {name: x, shape: [6, 6, 1]}
    - Flatten: {name: flat}
    - Dense: {name: kind, inputs: flat, units: 3, activation: softmax}
    - Dense: {name: sure, inputs: flat, units: 1, activation: sigmoid}
    - Dense: {name: size, inputs: flat, units: 2}
  outputs: [kind, sure, size]
data: {train: {Synthetic: {samples: 8}}, validation: {Synthetic: {samples: 21}}}
train:
  epochs: 1
  batch_size: 8
  loss: {kind: sparse_categorical_crossentropy, sure: binary_crossentropy, size: mean_absolute_error}
  metrics: {kind: [accuracy]}
)";

class EvaluationResultTest : public ::testing::Test {
 protected:
  static session::SessionOptions options() {
    session::SessionOptions options;
    options.devices.replicas = 2;
    options.devices.threads = 1;
    options.training = options.wants_train = false;
    return options;
  }

  const experiment::Experiment experiment_ = experiment::load_experiment_text(kThreeOutputs, "three.yaml", {});
  session::Session session_{experiment_, options()};
  const std::vector<Classes> classes_ = classes_of_outputs(experiment_, session_.model().graph, session_.class_names());

  std::optional<EvaluationResult> evaluated(const std::function<bool()>& should_continue) {
    return evaluate(session_, classes_, "validation", train::ProgressMode::kOff, should_continue);
  }
};

double value_of(const EvaluationResult& evaluation_result, const std::string& name) {
  for (const auto& [key, value] : evaluation_result.values)
    if (key == name) return value;
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST_F(EvaluationResultTest, LossesOfSamplesHaveTheLoggedMean) {
  const std::optional<EvaluationResult> evaluation_result = evaluated([] { return true; });
  ASSERT_TRUE(evaluation_result);
  EXPECT_EQ(evaluation_result->samples, 21);
  ASSERT_EQ(evaluation_result->outputs.size(), 3U);
  for (const OutputResult& output : evaluation_result->outputs) {
    ASSERT_EQ(output.worst.size(), 21U) << "fewer than 24: all";
    double sum = 0;
    for (const WorstSample& sample : output.worst) sum += sample.loss;
    EXPECT_NEAR(sum / 21, value_of(*evaluation_result, output.name + "_loss"), 1e-5) << output.name;
  }
}

TEST_F(EvaluationResultTest, ConfusionsAndScoresOnlyForClasses) {
  const EvaluationResult evaluation_result = *evaluated([] { return true; });
  const OutputResult &kind = evaluation_result.outputs[0], &size = evaluation_result.outputs[2];
  ASSERT_TRUE(kind.confusion && evaluation_result.outputs[1].confusion);
  EXPECT_FALSE(size.confusion);
  EXPECT_EQ(size.worst.front().values, 2U);
  std::int64_t all = 0, right = 0;
  for (std::int64_t label = 0; label < 3; ++label)
    for (std::int64_t answer = 0; answer < 3; ++answer) {
      all += kind.confusion->count(label, answer);
      if (label == answer) right += kind.confusion->count(label, answer);
    }
  EXPECT_EQ(all, 21);
  EXPECT_NEAR(static_cast<double>(right) / 21, value_of(evaluation_result, "kind_accuracy"), 1e-9);
  EXPECT_EQ(kind.scores.size(), 3U);
  EXPECT_EQ(evaluation_result.outputs[1].scores.size(), 2U) << "a single sigmoid distinguishes two classes";
}

TEST_F(EvaluationResultTest, LeavesOutAnIgnoredClass) {
  const experiment::Experiment ignoring = experiment::load_experiment_text(
      kThreeOutputs, "three.yaml",
      {.sets = {"train.loss.kind={SparseCategoricalCrossentropy: {ignore_class: 1}}"}, .variables = {}});
  session::Session session(ignoring, options());
  const auto found = evaluate(session, classes_, "validation", train::ProgressMode::kOff, [] { return true; });
  const auto whole = evaluated([] { return true; });
  const Confusion &all = *whole->outputs[0].confusion, &kind = *found->outputs[0].confusion;
  std::int64_t counted = 0, right = 0, ignored = 0;
  for (std::int64_t answer = 0; answer < 3; ++answer) {
    EXPECT_EQ(kind.count(1, answer), 0);
    ignored += all.count(1, answer);
    for (const std::int64_t label : {0, 2}) {
      EXPECT_EQ(kind.count(label, answer), all.count(label, answer));
      counted += kind.count(label, answer);
      if (label == answer) right += kind.count(label, answer);
    }
  }
  EXPECT_GT(ignored, 0);
  EXPECT_GT(counted, 0);
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(counted), value_of(*found, "kind_accuracy"), 1e-6);
  EXPECT_EQ(found->outputs[0].worst.size(), static_cast<std::size_t>(counted));
}

TEST_F(EvaluationResultTest, CanBeStoppedInEitherPass) {
  for (const int batches : {0, 1, 4}) {
    int left = batches;
    EXPECT_FALSE(evaluated([&] { return left-- > 0; })) << batches << " of 3 and 3";
  }
  EXPECT_TRUE(evaluated([] { return true; })) << "and restarts from the first batch";
}

TEST_F(EvaluationResultTest, IsWrittenAsFiles) {
  const test::Folder folder;
  EvaluationResult evaluation_result = *evaluated([] { return true; });
  OutputResult& size = evaluation_result.outputs[2];
  ASSERT_EQ(size.value_answers.size(), 21U) << "of few samples all";
  EXPECT_EQ(size.values, 2U);
  size.value_answers.front().labels[1] = 2;  // the drawn synthetic labels are only 0 and 1
  const std::string checkpoint = "best.h5";
  const EvaluatedModel evaluated{experiment_, checkpoint, evaluation_result, session_.source("validation")};
  EXPECT_EQ(write_numbers(evaluated, folder.path()).size(), 6U);
  EXPECT_EQ(write_pictures(evaluated, folder.path()).size(), 9U);
  EXPECT_THAT(folder.files(), testing::UnorderedElementsAre(
                                  "eval.json", "confusion-kind.csv", "confusion-sure.csv", "answers-kind.csv",
                                  "answers-sure.csv", "confusion-kind.svg", "confusion-sure.svg", "scores-kind.svg",
                                  "scores-sure.svg", "worst-kind.svg", "worst-sure.svg", "worst-size.svg",
                                  "predicted-size.csv", "predicted-size.svg", "residuals-size.svg"));
  const auto json = nlohmann::json::parse(train::read_text(folder / "eval.json"));
  const auto& worst = json["outputs"]["size"]["worst"][0];
  EXPECT_EQ(worst["label"].size(), 2U);
  EXPECT_FALSE(worst.contains("loss"));
  EXPECT_EQ(worst["error"], evaluation_result.outputs[2].worst[0].loss);
  EXPECT_THAT(worst["sample"].get<std::string>(), testing::StartsWith("Synthetic, item "));
  EXPECT_TRUE(json["outputs"]["kind"]["worst"][0].contains("probability"));
  EXPECT_THAT(train::read_text(folder / "predicted-size.csv"),
              testing::StartsWith("sample,label_1,answer_1,label_2,answer_2\n0,"));
}

constexpr const char* kMap = R"(dptrain: 1
name: map
model:
  layers:
    - Input: {name: x, shape: [6, 6, 1]}
    - Dense: {units: 3, activation: softmax}
data:
  train: {Synthetic: {samples: 8, ignore_class: 1}}
  validation: {Synthetic: {samples: 21, ignore_class: 1, class_names: [road, gap, sky]}}
train: {epochs: 1, batch_size: 8, loss: sparse_categorical_crossentropy, metrics: [accuracy]}
)";

TEST(EvaluationOfMaps, LeavesOutTheIgnoredClassOfTheDataSet) {
  session::SessionOptions options;
  options.devices.threads = 1;
  options.training = options.wants_train = false;
  const experiment::Experiment experiment = experiment::load_experiment_text(kMap, "map.yaml", {});
  session::Session session(experiment, options);
  const std::vector<Classes> classes = classes_of_outputs(experiment, session.model().graph, session.class_names());
  EXPECT_THAT(result_names(session.plan(), classes),
              testing::ElementsAre("loss", "accuracy", "precision", "recall", "f1", "iou"));
  EXPECT_THAT(class_score_names(session.plan(), classes), testing::Contains("iou of sky"));
  const EvaluationResult result =
      *evaluate(session, classes, "validation", train::ProgressMode::kOff, [] { return true; });
  const OutputResult& output = result.outputs.front();
  std::int64_t right = 0, counted = 0;
  for (std::int64_t label = 0; label < 3; ++label)
    for (std::int64_t answer = 0; answer < 3; ++answer) {
      const std::int64_t count = output.confusion->count(label, answer);
      EXPECT_TRUE(label != 1 || count == 0) << "ignored";
      counted += count;
      right += label == answer ? count : 0;
    }
  EXPECT_GT(counted, 0);
  EXPECT_LT(counted, 21 * 36);
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(counted), value_of(result, "accuracy"), 1e-6);
  std::int64_t positions = 0;
  for (const WorstSample& sample : output.worst) positions += sample.positions;
  EXPECT_GT(positions, 0);
  EXPECT_LT(positions, counted) << "not all samples are drawn";
  double sum = 0, of_sky = 0;
  for (const auto& [name, value] : class_score_values(result)) {
    if (name == "iou of road" || name == "iou of sky") sum += value;
    if (name == "iou of sky") of_sky = value;
  }
  EXPECT_THAT(result_values(result), testing::Contains(testing::Pair("iou", testing::DoubleNear(sum / 2, 1e-12))));

  const test::Folder folder;
  const std::string checkpoint = "best.h5";
  const EvaluatedModel evaluated{experiment, checkpoint, result, session.source("validation")};
  write_numbers(evaluated, folder.path());
  write_pictures(evaluated, folder.path());
  EXPECT_THAT(folder.files(),
              testing::UnorderedElementsAre("eval.json", "confusion.csv", "confusion.svg", "scores.svg", "worst.svg"));
  const auto json = nlohmann::json::parse(train::read_text(folder / "eval.json"));
  EXPECT_EQ(json["classes"][2]["iou"], of_sky);
  EXPECT_THAT(train::read_text(folder / "confusion.csv"), testing::HasSubstr("\ngap,0,0,0\n"));

  const std::string file = folder / "gates.yaml";
  train::write_text(file,
                    "class_iou: {at_most: -1}\nclasses: {sky: {iou: {at_least: 0}}}\nmetrics: {iou: {at_least: 2}}\n");
  GateOptions gate_options;
  gate_options.file = file;
  Gates gates(gate_options, experiment, "validation");
  gates.check(session.plan(), classes);
  std::vector<std::string> verdicts;
  for (const Verdict& verdict : gates.verdicts(evaluated, session.plan(), 6))
    verdicts.push_back(verdict.gate + (verdict.failed ? " failed" : " ok"));
  EXPECT_THAT(verdicts, testing::UnorderedElementsAre("iou failed", "iou of road failed", "iou of sky ok"))
      << "the class without positions is skipped";
}

/// Writes an array of float32 as an .npy file; `shape` as in Python.
void write_npy(const std::string& path, const std::string& shape, const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  train::write_text(path, std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + bytes);
}

/// Checks that the confusion matrix has `positions` positions, and the accuracy of the metric.
void expect_positions(const experiment::Experiment& experiment, std::int64_t positions) {
  session::SessionOptions options;
  options.devices.threads = 1;
  options.training = options.wants_train = false;
  session::Session session(experiment, options);
  ASSERT_EQ(session.plan().losses.front().labels, nn::LabelKind::kDense);
  const std::vector<Classes> classes = classes_of_outputs(experiment, session.model().graph, session.class_names());
  const EvaluationResult result =
      *evaluate(session, classes, "validation", train::ProgressMode::kOff, [] { return true; });
  const Confusion& confusion = *result.outputs.front().confusion;
  std::int64_t counted = 0, right = 0;
  for (std::int64_t label = 0; label < classes.front().count(); ++label)
    for (std::int64_t answer = 0; answer < classes.front().count(); ++answer) {
      counted += confusion.count(label, answer);
      right += label == answer ? confusion.count(label, answer) : 0;
    }
  EXPECT_EQ(counted, positions);
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(counted), value_of(result, "accuracy"), 1e-6);
  EXPECT_TRUE(std::isfinite(value_of(result, "loss")));
  EXPECT_FALSE(result.outputs.front().worst.empty());
}

/// Labels that are rows: of one sigmoid, and because a transform mixes them.
TEST(EvaluationOfMaps, LeavesOutIgnoredRows) {
  const test::Folder folder;
  constexpr std::int64_t kSamples = 5, kPixels = 36;
  std::vector<float> inputs, labels;
  std::int64_t positions = 0;
  for (std::int64_t i = 0; i < kSamples * kPixels; ++i) {
    inputs.push_back(static_cast<float>(i % 7) - 3);
    labels.push_back(i % 3 == 0 ? 255.0F : static_cast<float>(i % 2));
    positions += i % 3 == 0 ? 0 : 1;
  }
  write_npy(folder / "inputs.npy", "(5, 6, 6, 1)", inputs);
  write_npy(folder / "labels.npy", "(5, 6, 6)", labels);
  const auto config = [&](const std::string& layer, const std::string& loss, const std::string& data) {
    return experiment::load_experiment_text(
        "dptrain: 1\nmodel: {layers: [Input: {shape: [6, 6, 1]}, Dense: {" + layer +
            "}]}\ndata: {validation: {Numpy: {inputs: " + (folder / "inputs.npy") +
            ", labels: " + (folder / "labels.npy") + ", ignore_class: 255}}" + data +
            "}\ntrain: {epochs: 1, batch_size: 2, metrics: [accuracy], loss: " + loss + "}\n",
        "map.yaml", {});
  };
  expect_positions(config("units: 1, activation: sigmoid", "binary_crossentropy", ""), positions);
  expect_positions(config("units: 2, activation: softmax", "categorical_crossentropy",
                          ", transforms: {train: [{MixUp: {}}], eval: []}"),
                   positions);
}

TEST_F(EvaluationResultTest, GatesOfIoUNeedMaps) {
  const test::Folder folder;
  const std::string file = folder / "gates.yaml";
  for (const char* const text : {"class_iou: {at_least: 0}\n", "classes: {'1': {iou: {at_least: 0}}}\n"}) {
    train::write_text(file, text);
    try {
      GateOptions gate_options;
      gate_options.file = file;
      Gates(gate_options, experiment_, "validation").check(session_.plan(), classes_);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("need an output with a class per position")) << text;
    }
  }
}

constexpr const char* kMaps = R"(dptrain: 1
name: maps
model:
  layers:
    - Input: {shape: [6, 9, 3]}
    - Conv2D: {name: map, filters: FILTERS, kernel_size: 1, activation: ACTIVATION}
data: {train: {Synthetic: {samples: 8}}, validation: {Synthetic: {samples: 21}}}
train: {epochs: 1, batch_size: 8, loss: LOSS}
)";

struct Evaluated {
  experiment::Experiment experiment;
  EvaluationResult result;
  std::shared_ptr<const data::Source> samples;
};

Evaluated evaluated_maps(const std::string& filters, const std::string& activation, const std::string& loss) {
  std::string text = kMaps;
  for (const auto& [name, value] : {std::pair{"FILTERS", filters}, {"ACTIVATION", activation}, {"LOSS", loss}})
    text.replace(text.find(name), std::string(name).size(), value);
  experiment::Experiment experiment = experiment::load_experiment_text(text, "maps.yaml", {});
  session::SessionOptions options;
  options.devices.replicas = options.devices.threads = 1;
  options.training = options.wants_train = false;
  session::Session session(experiment, options);
  const std::vector<Classes> classes = classes_of_outputs(experiment, session.model().graph, session.class_names());
  EvaluationResult result = *evaluate(session, classes, "validation", train::ProgressMode::kOff, [] { return true; });
  return {experiment, std::move(result), session.source("validation")};
}

void expect_maps_of_samples(const OutputResult& output, std::int64_t pixels) {
  ASSERT_EQ(output.worst.size(), WorstSamples::kMostMaps);
  EXPECT_EQ(output.worst_maps.size(), output.worst.size());
  for (std::size_t i = 0; i < output.worst.size(); ++i) {
    const WorstSample& sample = output.worst[i];
    if (i > 0) {
      EXPECT_LE(sample.loss, output.worst[i - 1].loss);
    }
    const SampleMaps& maps = output.worst_maps.at(sample.index);
    std::int64_t wrong = 0, ignored = 0;
    for (std::size_t p = 0; p < maps.label.classes.size(); ++p) {
      ignored += maps.label.classes[p] == plot::ClassMap::kIgnored ? 1 : 0;
      wrong += maps.label.classes[p] != maps.answer.classes[p] ? 1 : 0;
    }
    EXPECT_EQ(wrong, sample.wrong);
    EXPECT_EQ(ignored, pixels - sample.positions);
    EXPECT_GT(wrong, 0) << "an untrained model";
  }
}

TEST(EvaluationOfMaps, ShowsTheSamplesWithTheLargestMeanLoss) {
  const Evaluated all = evaluated_maps("4", "softmax", "sparse_categorical_crossentropy");
  const OutputResult& output = all.result.outputs.front();
  expect_maps_of_samples(output, 54);
  EXPECT_EQ(output.worst_maps.begin()->second.label.height, 6);
  EXPECT_EQ(output.worst_maps.begin()->second.label.width, 9);

  const test::Folder folder;
  const EvaluatedModel evaluated{all.experiment, "best.h5", all.result, all.samples};
  write_numbers(evaluated, folder.path());
  write_pictures(evaluated, folder.path());
  const std::string svg = train::read_text(folder / "worst.svg");
  std::size_t images = 0;
  for (std::size_t at = svg.find("<image"); at != std::string::npos; at = svg.find("<image", at + 1)) ++images;
  EXPECT_EQ(images, 3 * WorstSamples::kMostMaps);
  for (const char* const words : {">picture<", ">label<", ">answer<", "#800000", "% of 54 pixels wrong"})
    EXPECT_THAT(svg, testing::HasSubstr(words));
  const auto json = nlohmann::json::parse(train::read_text(folder / "eval.json"));
  EXPECT_EQ(json["map"], (nlohmann::json{6, 9}));
  EXPECT_EQ(json["worst"].size(), WorstSamples::kMostMaps);
}

TEST(EvaluationOfMaps, LeaveOutIgnoredPixels) {
  const Evaluated all = evaluated_maps("4", "softmax", "{SparseCategoricalCrossentropy: {ignore_class: 2}}");
  const OutputResult& output = all.result.outputs.front();
  expect_maps_of_samples(output, 54);
  EXPECT_LT(output.worst.front().positions, 54);
}

TEST(EvaluationOfMaps, OfOneSigmoidHaveTwoClasses) {
  const Evaluated all = evaluated_maps("1", "sigmoid", "binary_crossentropy");
  const OutputResult& output = all.result.outputs.front();
  expect_maps_of_samples(output, 54);
  for (const auto& [index, maps] : output.worst_maps)
    for (const std::int32_t c : maps.answer.classes) EXPECT_TRUE(c == 0 || c == 1);
}

}  // namespace
}  // namespace dptrain::evaluation
