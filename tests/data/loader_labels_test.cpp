// Labels in the form that the loss requires, and errors about labels that do not fit the model.

#include <gmock/gmock.h>

#include <cmath>

#include "data/loader_batches.h"

namespace dptrain::data {
namespace {

using nn::LabelKind;
using ::testing::ElementsAre;

TEST(LoaderLabels, RejectsLabelsOutOfRangeBeforeTraining) {
  const auto source = numbered_source(30);
  source->classes[17] = 12;
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { Loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(4)); }),
            "labels, item 17: label 12 is outside 0..3 (the model has 4 outputs)");
  EXPECT_EQ(
      error_of(ErrorKind::kData,
               [&] { Loader(source, {}, kLoaderModel, {{.kind = LabelKind::kDense, .width = 4}}, loader_options(4)); }),
      "labels, item 17: label 12 is outside 0..3 (the model has 4 outputs)");
  source->classes[17] = -1;
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { Loader(source, {}, kLoaderModel, kLoaderClasses, loader_options(4)); }),
            "labels, item 17: label -1 is outside 0..3 (the model has 4 outputs)");
  Loader unlabelled(source, {}, kLoaderModel, std::vector<LabelForm>{}, loader_options(4));
  EXPECT_EQ(unlabelled.next().labels(), nullptr);
}

std::vector<float> dense(const std::shared_ptr<VectorSource>& source, std::int64_t width) {
  LoaderOptions o = loader_options(2);
  o.shuffle.kind = Shuffle::Kind::kNone;
  Loader loader(source, {}, kLoaderModel, {{.kind = LabelKind::kDense, .width = width}}, o);
  const Batch batch = loader.next();
  const auto* rows = static_cast<const float*>(batch.labels());
  return {rows, rows + batch.rows() * width};
}

TEST(LoaderLabels, DenseRows) {
  EXPECT_THAT(dense(numbered_source(2), 1), ElementsAre(0, 1));
  EXPECT_THAT(dense(numbered_source(2), 3), ElementsAre(1, 0, 0, 0, 1, 0));
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  source->values = {{0.5F, -1}, {2, 3}};
  EXPECT_THAT(dense(source, 2), ElementsAre(0.5F, -1, 2, 3));
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { dense(source, 10); }),
            "labels, item 0: labels have 2 values per sample, the model has 10 outputs");
  source->values.clear();
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { dense(source, 10); }),
            "the data set has no labels, and the loss needs them");
}

/// Two positions of three classes, one label per position.
TEST(LoaderLabels, OfPositions) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  const auto open = [&](LabelKind kind) {
    LoaderOptions o = loader_options(2);
    o.shuffle.kind = Shuffle::Kind::kNone;
    Loader loader(source, {}, kLoaderModel, {{.output = "digits", .kind = kind, .width = 6, .positions = 2}}, o);
    const Batch batch = loader.next();
    const BatchView rows = batch.view();
    std::vector<float> found;
    for (int i = 0; i < (kind == LabelKind::kClass ? 4 : 12); ++i)
      found.push_back(kind == LabelKind::kClass ? static_cast<float>(rows.labels[0].as<std::int32_t>()[i])
                                                : rows.labels[0].as<float>()[i]);
    return found;
  };
  source->values = {{2, 0}, {1, 1}};  // a class per position
  EXPECT_THAT(open(LabelKind::kClass), ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(open(LabelKind::kDense), ElementsAre(0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0));
  source->values = {{2, 0}, {1, 3}};
  for (const LabelKind kind : {LabelKind::kClass, LabelKind::kDense})
    EXPECT_EQ(
        error_of(ErrorKind::kData, [&] { open(kind); }),
        "labels, item 1: label 3 is not a class; expected a whole number in 0..2 (the model has 3 outputs at each "
        "position); to leave out such positions set ignore_class of the data set");
  source->values = {{0, 0, 1, 1, 0, 0}, {0, 1, 0, 0, 1, 0}};  // one-hot rows
  EXPECT_THAT(open(LabelKind::kClass), ElementsAre(2, 0, 1, 1));
  EXPECT_THAT(open(LabelKind::kDense), ElementsAre(0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0));
  source->values = {{0, 0, 1}, {0, 1, 0}};
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open(LabelKind::kDense); }),
            "labels, item 0: labels have 3 values per sample, the model has 6 outputs at 2 positions");
  source->values.clear();
  source->classes = {0, 1};
  EXPECT_EQ(
      error_of(ErrorKind::kData, [&] { open(LabelKind::kClass); }),
      "labels, item 0: labels are one class per sample, the model's output has 2 rows of 3 values; try labels with "
      "a class for each, or Flatten or GlobalAveragePooling2D and a last Dense");
}

TEST(LoaderLabels, AnIgnoredClassIsNoError) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  LoaderOptions o = loader_options(2);
  o.shuffle.kind = Shuffle::Kind::kNone;
  LabelForm form{.output = "digits", .kind = LabelKind::kClass, .width = 6, .positions = 2, .ignored = 255};
  source->values = {{2, 255}, {255, 0}};
  Loader loader(source, {}, kLoaderModel, {form}, o);
  const Batch batch = loader.next();
  const auto* const labels = static_cast<const std::int32_t*>(batch.labels());
  EXPECT_THAT(std::vector(labels, labels + 4), ElementsAre(2, 255, 255, 0));
  const auto other = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  other->values = {{2, 254}, {255, 0}};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { Loader(other, {}, kLoaderModel, {form}, o); }),
              ::testing::HasSubstr("item 0: label 254 is not a class"));
}

TEST(LoaderLabels, CrossentropyRequiresProbabilities) {
  const auto open = [](const std::shared_ptr<VectorSource>& source, std::int64_t width) {
    const std::vector<LabelForm> labels{
        {.output = "digits", .kind = LabelKind::kDense, .width = width, .probabilities = true}};
    return Loader(source, {}, kLoaderModel, labels, loader_options(4)).samples();
  };
  const auto source = numbered_source(30);
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open(source, 1); }),
            "labels, item 2: label 2 is outside 0..1, which the loss expects; for more than two classes give the model "
            "an output for each and a softmax, and use sparse_categorical_crossentropy");
  EXPECT_EQ(open(source, 4), 30);  // one-hot rows
  for (std::int64_t i = 0; i < 30; ++i) source->classes[static_cast<std::size_t>(i)] = i % 2;
  EXPECT_EQ(open(source, 1), 30);

  const auto rows = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  rows->values = {{0.25F, 1}, {0, 0.75F}};
  EXPECT_EQ(open(rows, 2), 2);
  rows->values = {{0, 1}, {0.5F, -1}};
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open(rows, 2); }),
            "labels, item 1: label -1 is outside 0..1, which the loss expects");
}

/// Also returns all values as one contiguous array.
class FlatSource final : public VectorSource {
 public:
  using VectorSource::VectorSource;
  const float* all_label_values(int) const override { return flat.data(); }
  void set(std::vector<float> all) {
    flat = std::move(all);
    values.clear();
    for (std::size_t i = 0; i < flat.size(); i += 2) values.push_back({flat[i], flat[i + 1]});
  }
  std::vector<float> flat;
};

TEST(LoaderLabels, ChecksContiguousProbabilitiesInPlace) {
  const auto source = std::make_shared<FlatSource>(3, Shape{2, 3, 1});
  const auto open = [&] {
    const std::vector<LabelForm> labels{
        {.output = "digits", .kind = LabelKind::kDense, .width = 2, .probabilities = true}};
    return Loader(source, {}, kLoaderModel, labels, loader_options(3)).samples();
  };
  source->set({0, 1, 0.5F, 0.25F, 1, 0});
  EXPECT_EQ(open(), 3);
  source->set({0, 1, 0.5F, 0.25F, 1, std::nanf("")});
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open(); }),
            "labels, item 2: label nan is outside 0..1, which the loss expects");
  source->set({0, 1, 1.5F, 0.25F, 1, -1});
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open(); }),
            "labels, item 1: label 1.5 is outside 0..1, which the loss expects");
}

TEST(LoaderLabels, ClassesOutOfRows) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  const auto classes = [&](std::vector<std::vector<float>> values) {
    source->values = std::move(values);
    LoaderOptions o = loader_options(2);
    o.shuffle.kind = Shuffle::Kind::kNone;
    Loader loader(source, {}, kLoaderModel, kLoaderClasses, o);
    return copy(loader.next()).labels;
  };
  EXPECT_THAT(classes({{0, 0, 0, 1}, {0, 1, 0, 0}}), ElementsAre(3, 1));
  EXPECT_THAT(classes({{2}, {0}}), ElementsAre(2, 0));
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [&] {
                       classes({{0, 0, 0, 1}, {0, 0.5F, 0.5F, 0}});
                     }),
            "labels, item 1: the row is not one-hot; expected a single 1 among zeros, or a loss of rows, such as "
            "categorical_crossentropy");
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [&] {
                       classes({{1}, {1.5F}});
                     }),
            "labels, item 1: label 1.5 is not a class; expected a whole number in 0..3 (the model has 4 outputs)");
}

}  // namespace
}  // namespace dptrain::data
