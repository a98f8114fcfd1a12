// The samples that a session trains on and evaluates.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "session/session.h"
#include "support/folder.h"

namespace dptrain::session {
namespace {

/// Half of the training set is the test set: fit trains on the other half, although it opens no test set.
TEST(SessionData, FitExcludesTheSamplesOfEval) {
  const experiment::Experiment experiment = experiment::load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
      "data: {train: {Synthetic: {samples: 1000}}, test: {Split: {of: train, fraction: 0.5}}}\n"
      "train: {epochs: 1, batch_size: 100, loss: sparse_categorical_crossentropy}\n",
      "half.yaml", {});
  SessionOptions fit;
  fit.devices = {.replicas = 1, .threads = 1};
  Session training(experiment, fit);
  EXPECT_EQ(training.train_loader().samples(), 500);
  EXPECT_EQ(training.test_loader(), nullptr);

  SessionOptions eval = fit;
  eval.training = eval.wants_train = eval.wants_validation = false;
  eval.wants_test = true;
  Session judging(experiment, eval);
  EXPECT_EQ(judging.test_loader()->samples(), 500);
}

/// The loss determines the type of a table's label column.
TEST(SessionData, LabelsOfATableFollowTheLoss) {
  const dptrain::test::Folder folder;
  std::ofstream(folder / "t.csv") << "x,y\n1.5,2\n2.5,0\n3.5,1\nodd,1\n";
  const auto session = [&](const std::string& dense, const std::string& loss) {
    const experiment::Experiment experiment = experiment::load_experiment_text(
        "dptrain: 1\nmodel: {layers: [{Input: {shape: [1]}}, {Dense: " + dense +
            "}]}\ndata: {train: {CSV: {file: " + (folder / "t.csv") + ", labels: y, missing_values: [odd]}}}\n" +
            "train: {epochs: 1, batch_size: 2, loss: " + loss + "}\n",
        "table.yaml", {});
    return Session(experiment, {.devices = {.replicas = 1, .threads = 1}}).train_loader().samples();
  };
  EXPECT_EQ(session("{units: 3, activation: softmax}", "sparse_categorical_crossentropy"), 4);
  EXPECT_EQ(session("{units: 3, activation: softmax}", "categorical_crossentropy"), 4);
  EXPECT_EQ(session("1", "mse"), 4);
  std::ofstream(folder / "t.csv") << "x,y\n1.5,yes\n2.5,no\n";
  EXPECT_THROW(session("1", "mse"), Error);
  EXPECT_EQ(session("{units: 1, activation: sigmoid}", "binary_crossentropy"), 2);
}

/// Ids of 1 to 6 words, in batches of similar lengths, the same for any number of replicas.
TEST(SessionData, BatchesOfSimilarLengths) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dptrain-lengths-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto length_of = [](std::int64_t sample) { return 1 + sample * 5 % 6; };
  std::ofstream ids(folder / "ids", std::ios::binary), labels(folder / "labels", std::ios::binary);
  ids << std::string{0, 0, 8, 2, 0, 0, 0, 18, 0, 0, 0, 6};
  labels << std::string{0, 0, 8, 1, 0, 0, 0, 18};
  for (std::int64_t sample = 0; sample < 18; ++sample) {
    for (std::int64_t step = 0; step < 6; ++step) ids.put(step < length_of(sample) ? 3 : 0);
    labels.put(static_cast<char>(sample % 2));
  }
  ids.close();
  labels.close();
  const experiment::Experiment experiment =
      experiment::load_experiment_text(std::string("dptrain: 1\n"
                                                   "model: {layers: [{Input: {shape: [6], dtype: int32}},\n"
                                                   "  {Embedding: {input_dim: 5, output_dim: 2, mask_zero: true}},\n"
                                                   "  {LSTM: 3}, {Dense: {units: 1, activation: sigmoid}}]}\n"
                                                   "data: {train: {IDX: {inputs: ") +
                                           (folder / "ids").string() + ", labels: " + (folder / "labels").string() +
                                           "}}, loader: {bucket_by_length: 9}}\n"
                                           "train: {epochs: 1, batch_size: 3, loss: binary_crossentropy}\n",
                                       (folder / "lengths.yaml").string(), {});
  std::vector<std::vector<std::int64_t>> orders;
  for (const int replicas : {1, 2}) {
    SessionOptions options;
    options.devices = {.replicas = replicas, .threads = 1};
    Session session(experiment, options);
    std::vector<std::int64_t> order;
    for (data::Batch batch = session.train_loader().next(); batch.rows() > 0; batch = session.train_loader().next()) {
      for (const std::int64_t sample : batch.indices()) EXPECT_EQ(length_of(sample), length_of(batch.indices()[0]));
      order.insert(order.end(), batch.indices().begin(), batch.indices().end());
    }
    orders.push_back(order);
  }
  EXPECT_EQ(orders[0], orders[1]);
  std::sort(orders[0].begin(), orders[0].end());
  for (std::size_t i = 0; i < 18; ++i) EXPECT_EQ(orders[0][i], static_cast<std::int64_t>(i));
  std::filesystem::remove_all(folder);
}

/// A class per pixel: class numbers from generated data, and from an IDX file of masks.
class SegmentationData : public ::testing::TestWithParam<const char*> {};

TEST_P(SegmentationData, FitsEvaluatesAndKeepsOneLabelPerPixel) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dptrain-masks-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::vector<std::uint8_t>& extents, int values, int below) {
    std::ofstream file(folder / name, std::ios::binary);
    file << std::string{0, 0, 8, static_cast<char>(extents.size())};
    std::size_t elements = 1;
    for (const std::uint8_t extent : extents) {
      file << std::string{0, 0, 0, static_cast<char>(extent)};
      elements *= extent;
    }
    for (std::size_t i = 0; i < elements; ++i)
      file.put(static_cast<char>(i * 7 % static_cast<std::size_t>(values) % static_cast<std::size_t>(below)));
  };
  write("images", {9, 4, 5}, 251, 3);  // no transform reduces their size
  write("masks", {9, 4, 5}, 11, 3);
  std::string source = GetParam();
  for (std::size_t at = source.find("FOLDER"); at != std::string::npos; at = source.find("FOLDER"))
    source.replace(at, 6, folder.string());
  const experiment::Experiment experiment = experiment::load_experiment_text(
      std::string("dptrain: 1\n"
                  "model: {layers: [{Input: {shape: [4, 5, 1]}}, {Conv2D: {filters: 3, kernel_size: 3, padding: same, "
                  "activation: softmax}}]}\n"
                  "data: {train: ") +
          source +
          "}\n"
          "train: {epochs: 1, batch_size: 6, loss: sparse_categorical_crossentropy, metrics: [accuracy], "
          "optimizer: {SGD: 0.1}}\n",
      (folder / "masks.yaml").string(), {});
  SessionOptions options;
  options.devices = {.replicas = 3, .threads = 1};
  Session session(experiment, options);
  ASSERT_EQ(session.plan().losses.front().labels, nn::LabelKind::kClass);
  session.train_loader().seek(0, 0);
  const data::Batch batch = session.train_loader().next();
  const BatchView rows = batch.view();
  ASSERT_EQ(rows.labels.front().row_bytes, 20 * sizeof(std::int32_t));
  for (std::int64_t i = 0; i < batch.rows() * 20; ++i) {
    EXPECT_GE(rows.labels.front().as<std::int32_t>()[i], 0);
    EXPECT_LT(rows.labels.front().as<std::int32_t>()[i], 3);
  }
  double first = 0, last = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    last = session.replicas().step(rows, {.number = step, .learning_rate = 0.1, .global_samples = batch.rows()}).loss;
    if (step == 0) first = last;
  }
  EXPECT_LT(last, first);
  EXPECT_TRUE(std::isfinite(last));
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Sources, SegmentationData,
                         ::testing::Values("{Synthetic: {samples: 9}}",
                                           "{IDX: {inputs: FOLDER/images, labels: FOLDER/masks}}"));

/// The data set has classes; mixing needs one-hot rows, also in validation.
TEST(SessionData, MixedLabelsAreRows) {
  const experiment::Experiment experiment = experiment::load_experiment_text(
      "dptrain: 1\n"
      "model: {layers: [{Input: {shape: [4, 4, 1]}}, Flatten, {Dense: {units: 3, activation: softmax}}]}\n"
      "data:\n"
      "  train: {Synthetic: {samples: 40}}\n"
      "  validation: {Synthetic: {samples: 10}}\n"
      "  transforms: {train: [{MixUp: {alpha: 1}}, CutMix], eval: []}\n"
      "train: {epochs: 1, batch_size: 20, loss: categorical_crossentropy, metrics: [accuracy]}\n",
      "mixed.yaml", {});
  SessionOptions options;
  options.devices = {.replicas = 2, .threads = 1};
  Session session(experiment, options);
  const auto soft_rows = [](const data::Batch& batch) {
    const auto* labels = static_cast<const float*>(batch.labels());
    int soft = 0;
    for (std::int64_t row = 0; row < batch.rows(); ++row, labels += 3) {
      EXPECT_NEAR(labels[0] + labels[1] + labels[2], 1, 1e-5F);
      soft += std::max({labels[0], labels[1], labels[2]}) < 0.999F ? 1 : 0;
    }
    return soft;
  };
  EXPECT_GT(soft_rows(session.train_loader().next()), 4);
  EXPECT_EQ(soft_rows(session.validation_loader()->next()), 0);
}

}  // namespace
}  // namespace dptrain::session
