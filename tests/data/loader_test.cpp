#include "data/loader.h"

#include <gmock/gmock.h>

#include "data/loader_batches.h"
#include "data/sources/split.h"
#include "data/sources/synthetic.h"
#include "data/transform.h"
#include "data/transforms/colour.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

using ::testing::ElementsAre;

TEST(Loader, DeliversTheOrderWithAShortLastBatch) {
  Loader loader(numbered_source(10), {}, kLoaderModel, kLoaderClasses, loader_options(4));
  EXPECT_EQ(loader.samples(), 10);
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  const std::vector<Copy> batches = epochs(loader, 2);
  ASSERT_EQ(batches.size(), 6U);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    const auto order = Loader::order(10, {}, 11, epoch);
    for (std::int64_t b = 0; b < 3; ++b) {
      const Copy& batch = batches[static_cast<std::size_t>(epoch * 3 + b)];
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.first, 4 * b);
      ASSERT_EQ(batch.indices.size(), b < 2 ? 4U : 2U);
      for (std::size_t r = 0; r < batch.indices.size(); ++r) {
        const std::int64_t index = order[static_cast<std::size_t>(4 * b) + r];
        EXPECT_EQ(batch.indices[r], index);
        EXPECT_EQ(batch.input[r * 6 + 5], static_cast<float>(100 * index + 5));
        EXPECT_EQ(batch.labels[r], index % 4);
      }
    }
  }
}

TEST(Loader, WorkersAndPrefetchDoNotChangeBatches) {
  const auto run = [](bool contiguous, int workers, int prefetch) {
    const Pipeline augment(
        {transform_family().make(RandomFlipSpec{}), transform_family().make(RandomBrightnessSpec{{0.2}, {0, 5000}})},
        false);
    Loader loader(numbered_source(53, contiguous), augment, kLoaderModel, kLoaderClasses,
                  loader_options(5, workers, prefetch));
    return epochs(loader, 3);
  };
  const std::vector<Copy> reference = run(true, 1, 1);
  EXPECT_EQ(reference.size(), 33U);
  for (int workers = 1; workers <= 4; ++workers) {
    EXPECT_EQ(run(true, workers, 0), reference) << workers;
    EXPECT_EQ(run(false, workers, 1), reference) << workers;
    EXPECT_EQ(run(false, workers, 7), reference) << workers;
  }
}

TEST(Loader, CopyPathEqualsThePipeline) {
  const Pipeline rescale({transform_family().make(RescalingSpec{0.25, -3})}, false);
  Loader fast(numbered_source(20, true), rescale, kLoaderModel, kLoaderClasses, loader_options(6));
  Loader slow(numbered_source(20, false), rescale, kLoaderModel, kLoaderClasses, loader_options(6));
  EXPECT_EQ(epochs(fast, 1), epochs(slow, 1));
}

TEST(Loader, SeekResumesARun) {
  Loader whole(numbered_source(23), {}, kLoaderModel, kLoaderClasses, loader_options(4, 2));
  const std::vector<Copy> all = epochs(whole, 3);  // 6 batches each
  for (const auto& [epoch, batch] : {std::pair{0, 0}, {0, 3}, {1, 5}, {2, 2}}) {
    Loader loader(numbered_source(23), {}, kLoaderModel, kLoaderClasses, loader_options(4, 3));
    loader.seek(epoch, 4 * batch);
    const std::vector<Copy> rest = epochs(loader, 3 - epoch);
    EXPECT_EQ(rest, std::vector<Copy>(all.begin() + 6 * epoch + batch, all.end()));
  }
}

TEST(Loader, SeekToAnyRowAndToTheEnd) {
  Loader loader(numbered_source(10), {}, kLoaderModel, kLoaderClasses, loader_options(4));
  loader.seek(7, 3);  // as saved with another batch size
  const auto order = Loader::order(10, {}, 11, 7);
  const Batch batch = loader.next();
  EXPECT_EQ(batch.first(), 3);
  EXPECT_EQ(batch.indices(), std::vector<std::int64_t>(order.begin() + 3, order.begin() + 7));
  EXPECT_EQ(loader.next().rows(), 3);
  EXPECT_EQ(loader.next().rows(), 0);
  loader.seek(7, 10);
  EXPECT_EQ(loader.next().rows(), 0);
  loader.next_epoch();
  EXPECT_EQ(loader.next().epoch(), 8);
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.seek(0, 11); }),
            "cannot continue at sample 11 of epoch 0: the data set has 10 samples");
}

TEST(Loader, ReturnsNoBatchUntilTheNextEpochStarts) {
  Loader loader(numbered_source(3), {}, kLoaderModel, kLoaderClasses, loader_options(4));
  EXPECT_EQ(loader.next().rows(), 3);
  EXPECT_EQ(loader.next().rows(), 0);
  EXPECT_EQ(loader.next().rows(), 0);
  loader.next_epoch();
  EXPECT_EQ(loader.next().epoch(), 1);
}

TEST(Loader, NextEpochInTheMiddleSkipsTheRest) {
  Loader loader(numbered_source(30), {}, kLoaderModel, kLoaderClasses, loader_options(4, 2));
  EXPECT_EQ(loader.next().epoch(), 0);
  loader.next_epoch();
  const Batch batch = loader.next();
  EXPECT_EQ(batch.epoch(), 1);
  EXPECT_EQ(batch.first(), 0);
}

TEST(Loader, GathersPartsOfADataSet) {
  const auto whole = numbered_source(30);
  const auto part = subset(whole, {3, 29, 7, 11}, "test");
  LoaderOptions o = loader_options(3);
  o.shuffle.kind = Shuffle::Kind::kNone;
  Loader loader(part, {}, kLoaderModel, kLoaderClasses, o);
  const Copy batch = copy(loader.next());
  EXPECT_THAT(batch.indices, ElementsAre(0, 1, 2));
  EXPECT_EQ(batch.input[6], 2900.0F);
  EXPECT_THAT(batch.labels, ElementsAre(3, 1, 3));
}

TEST(Loader, AddsTheMissingChannel) {
  const auto source = std::make_shared<VectorSource>(4, Shape{2, 3});
  source->classes.assign(4, 1);
  Loader loader(source, Pipeline({transform_family().make(RandomFlipSpec{})}, false), kLoaderModel, kLoaderClasses,
                loader_options(4));
  EXPECT_EQ(loader.next().rows(), 4);
}

TEST(Loader, ReportsTheWidthOfATable) {
  const auto source = std::make_shared<VectorSource>(4, Shape{12});
  source->classes.assign(4, 1);
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [&] { Loader(source, Pipeline(), model_of({17}, {4}), kLoaderClasses, loader_options(4)); }),
            "samples are 12, the model expects 17; write `Input: {shape: [12]}`");
}

TEST(Loader, RejectsShapesThatTheModelCannotUse) {
  const auto refusal = [](const ModelSide& model, const Pipeline& pipeline = {}, const std::string& name = "") {
    const auto source = std::make_shared<VectorSource>(4, Shape{28, 28});
    source->classes.assign(4, 1);
    source->name = name;
    return error_of(ErrorKind::kData, [&] { Loader(source, pipeline, model, kLoaderClasses, loader_options(4)); });
  };
  EXPECT_EQ(refusal(model_of({32, 32, 3}, {4})), "samples are 28x28, the model expects 32x32x3");
  EXPECT_EQ(refusal(model_of({32, 32, 1}, {4}), Pipeline({transform_family().make(CenterCropSpec{24, 24})}, false)),
            "samples are 28x28, after the transforms 24x24x1, the model expects 32x32x1");
  ModelSide two = model_of({28, 28, 1}, {4});
  two.input_names = {"left", "right"};
  two.input_shapes = {Shape{28, 28, 1}, Shape{28, 28, 1}};
  EXPECT_EQ(
      refusal(two),
      "the model has the inputs left, right, but the data set has one without a name; write inputs as {name: file}");
  EXPECT_EQ(refusal(two, {}, "lefty"),
            "the data set has no input 'left', which the model expects; it has lefty; did you mean 'lefty'?");
  EXPECT_EQ(error_of(ErrorKind::kUsage,
                     [&] { Loader(numbered_source(4), {}, kLoaderModel, kLoaderClasses, loader_options(0)); }),
            "batch_size must be >= 1, found 0");
}

TEST(Loader, SeveralInputsByName) {
  ModelSide model = model_of({2, 3, 1}, {4});
  model.input_names = {"left", "right"};
  model.input_shapes = {Shape{4}, Shape{2, 2, 1}};
  SyntheticSpec spec;
  spec.samples = 9;
  const Sources sources = open_sources({.train = dataset_family().make(spec), .validation = {}, .test = {}}, model, 0);
  std::swap(model.input_names[0], model.input_names[1]);  // inputs are matched by name, not by position
  std::swap(model.input_shapes[0], model.input_shapes[1]);
  Loader loader(sources.train, {}, model, kLoaderClasses, loader_options(5));
  const Batch batch = loader.next();
  Array right;
  sources.train->read(batch.indices()[2], 1, right);
  for (int e = 0; e < 4; ++e) EXPECT_EQ(batch.input(0)[2 * 4 + e], right.f32[static_cast<std::size_t>(e)]);
}

}  // namespace
}  // namespace dptrain::data
