#include "data/loader.h"

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/clock.h"
#include "data/fixtures.h"
#include "data/sources/subset.h"
#include "data/sources/synthetic.h"
#include "data/transform.h"
#include "data/transforms/center_crop.h"
#include "data/transforms/random_brightness.h"
#include "data/transforms/random_flip.h"
#include "data/transforms/rescaling.h"

namespace dptrain::data {
namespace {

using optim::LabelKind;
using ::testing::ElementsAre;

LoaderOptions options(std::int64_t batch, int workers = 1, int prefetch = 0) {
  LoaderOptions o;
  o.batch_size = batch;
  o.seed = 11;
  o.workers = workers;
  o.prefetch = prefetch;
  return o;
}

std::shared_ptr<VectorSource> source_of(std::int64_t size, bool contiguous = true) {
  auto source = std::make_shared<VectorSource>(size, Shape{2, 3, 1});
  source->contiguous = contiguous;
  for (std::int64_t i = 0; i < size; ++i) source->classes.push_back(i % 4);
  return source;
}
const ModelSide kModel = model_of({2, 3, 1}, {4});
const std::vector<LabelDelivery> kClasses{{.output = "digits", .kind = LabelKind::kClass, .width = 4}};

/// What a batch holds, to compare.
struct Copy {
  std::int64_t epoch, first;
  std::vector<std::int64_t> indices;
  std::vector<float> input;
  std::vector<std::int32_t> labels;
  bool operator==(const Copy&) const = default;
};
Copy copy(const Batch& batch) {
  const auto rows = static_cast<std::size_t>(batch.rows());
  const auto* labels = static_cast<const std::int32_t*>(batch.labels());
  return {batch.epoch(),
          batch.first(),
          batch.indices(),
          {batch.input(0), batch.input(0) + rows * 6},
          {labels, labels + rows}};
}
std::vector<Copy> epochs(Loader& loader, int count) {
  std::vector<Copy> all;
  for (int e = 0; e < count; ++e) {
    for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) all.push_back(copy(batch));
    loader.next_epoch();
  }
  return all;
}

TEST(Loader, DeliversTheOrderWithAShortLastBatch) {
  Loader loader(source_of(10), {}, kModel, kClasses, options(4));
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

TEST(Loader, NothingDependsOnWorkersOrPrefetch) {
  const auto run = [](bool contiguous, int workers, int prefetch) {
    const Pipeline augment(
        {transform_family().make(RandomFlipSpec{}), transform_family().make(RandomBrightnessSpec{{0.2}, {0, 5000}})},
        false);
    Loader loader(source_of(53, contiguous), augment, kModel, kClasses, options(5, workers, prefetch));
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
  Loader fast(source_of(20, true), rescale, kModel, kClasses, options(6));
  Loader slow(source_of(20, false), rescale, kModel, kClasses, options(6));
  EXPECT_EQ(epochs(fast, 1), epochs(slow, 1));
}

TEST(Loader, SeekGoesOnWhereARunLeftOff) {
  Loader whole(source_of(23), {}, kModel, kClasses, options(4, 2));
  const std::vector<Copy> all = epochs(whole, 3);  // 6 batches each
  for (const auto& [epoch, batch] : {std::pair{0, 0}, {0, 3}, {1, 5}, {2, 2}}) {
    Loader loader(source_of(23), {}, kModel, kClasses, options(4, 3));
    loader.seek(epoch, 4 * batch);
    const std::vector<Copy> rest = epochs(loader, 3 - epoch);
    EXPECT_EQ(rest, std::vector<Copy>(all.begin() + 6 * epoch + batch, all.end()));
  }
}

TEST(Loader, SeekToAnyRowAndToTheEnd) {
  Loader loader(source_of(10), {}, kModel, kClasses, options(4));
  loader.seek(7, 3);  // another batch size saved this
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
            "cannot go on at sample 11 of epoch 0: the data set has 10 samples");
}

TEST(Loader, TheEndStaysUntilTheNextEpochIsAskedFor) {
  Loader loader(source_of(3), {}, kModel, kClasses, options(4));
  EXPECT_EQ(loader.next().rows(), 3);
  EXPECT_EQ(loader.next().rows(), 0);
  EXPECT_EQ(loader.next().rows(), 0);
  loader.next_epoch();
  EXPECT_EQ(loader.next().epoch(), 1);
}

TEST(Loader, NextEpochInTheMiddleSkipsTheRest) {
  Loader loader(source_of(30), {}, kModel, kClasses, options(4, 2));
  EXPECT_EQ(loader.next().epoch(), 0);
  loader.next_epoch();
  const Batch batch = loader.next();
  EXPECT_EQ(batch.epoch(), 1);
  EXPECT_EQ(batch.first(), 0);
}

/// Counts the samples read.
class CountingSource : public VectorSource {
 public:
  using VectorSource::VectorSource;
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    ++reads;
    VectorSource::read(index, input, out, hint);
  }
  mutable std::atomic<int> reads{0};
};

TEST(Loader, PrefetchCrossesTheEpochAndStopsThere) {
  const auto source = std::make_shared<CountingSource>(6, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(6, 0);
  Loader loader(source, {}, kModel, kClasses, options(3, 1, 2));
  for (int b = 0; b < 2; ++b) EXPECT_EQ(loader.next().rows(), 3);
  // All of epoch 0 is delivered; without another call two batches of epoch 1 are made, and no more.
  for (int tries = 0; tries < 20000 && source->reads < 12; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source->reads, 12);
  EXPECT_EQ(loader.next().rows(), 0);
  loader.next_epoch();
  EXPECT_EQ(loader.next().epoch(), 1);
}

TEST(Loader, BatchesMayBeHeldAndOutliveTheLoader) {
  std::vector<Batch> held;
  std::vector<Copy> copies;
  {
    Loader loader(source_of(40), {}, kModel, kClasses, options(4, 2, 1));
    for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
      copies.push_back(copy(batch));
      held.push_back(std::move(batch));
    }
  }
  ASSERT_EQ(held.size(), 10U);
  for (std::size_t b = 0; b < held.size(); ++b) EXPECT_EQ(copy(held[b]), copies[b]);
  std::set<const float*> memory;
  for (const Batch& batch : held) memory.insert(batch.input(0));
  EXPECT_EQ(memory.size(), 10U);
}

TEST(Loader, SlotsAreUsedAgain) {
  Loader loader(source_of(400), {}, kModel, kClasses, options(4, 1, 2));
  std::set<const float*> memory;
  for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) memory.insert(batch.input(0));
  EXPECT_LE(memory.size(), 5U);  // two ahead, one in the making, two in the loop's hands
  const auto aligned = [](const float* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; };
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), aligned));
}

TEST(Loader, TakesTheMemoryItIsGiven) {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> alive;
  LoaderOptions o = options(4, 2, 2);
  o.allocate = [&](std::size_t bytes) -> std::shared_ptr<void> {
    auto* memory = new std::byte[bytes];
    const std::lock_guard lock(mutex);
    alive[memory] = bytes;
    return {memory, [&](std::byte* p) {
              const std::lock_guard freeing(mutex);
              alive.erase(p);
              delete[] p;
            }};
  };
  const auto inside = [&](const void* p, std::size_t bytes) {
    const std::lock_guard lock(mutex);
    const auto found = alive.find(static_cast<const std::byte*>(p));
    return found != alive.end() && found->second >= bytes;
  };
  for (const LabelKind kind : {LabelKind::kClass, LabelKind::kDense}) {
    Batch held;
    {
      Loader loader(source_of(21), {}, kModel, {{.kind = kind, .width = 4}}, o);
      for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
        EXPECT_TRUE(inside(batch.input(0), 4 * 6 * sizeof(float)));
        EXPECT_TRUE(inside(batch.labels(), 4 * (kind == LabelKind::kClass ? sizeof(std::int32_t) : 4 * sizeof(float))));
        held = std::move(batch);
      }
    }
    EXPECT_EQ(alive.size(), 2U);  // of the batch that is held
  }
  EXPECT_TRUE(alive.empty());
}

TEST(Loader, AWorkersErrorComesWithItsBatch) {
  const auto source = source_of(40, false);
  source->broken = Loader::order(40, {}, 11, 0)[9];
  Loader loader(source, {}, kModel, kClasses, options(4, 3));
  EXPECT_EQ(loader.next().first(), 0);
  EXPECT_EQ(loader.next().first(), 4);
  const std::string message = "sample " + std::to_string(source->broken) + " is broken";
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.next(); }), message);
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.next(); }), message);
  loader.seek(0, 12);
  EXPECT_EQ(loader.next().first(), 12);
}

TEST(Loader, StopsInTheMiddleOfAnything) {
  /// Takes its time, as decoding does.
  class SlowSource : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      VectorSource::read(index, input, out, hint);
    }
  };
  const auto source = std::make_shared<SlowSource>(100000, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(100000, 0);
  const auto start = std::chrono::steady_clock::now();
  { Loader never_started(source, {}, kModel, kClasses, options(10000, 3)); }
  {
    Loader loader(source, {}, kModel, kClasses, options(10000, 3));  // a batch takes 20 s
    for (int i = 0; i < 20; ++i) loader.seek(i, 7 * i);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Loader, AllWorkersMakeOneBatch) {
  class Watched : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      VectorSource::read(index, input, out, {});
      const std::lock_guard lock(mutex);
      readers.insert(std::this_thread::get_id());
    }
    mutable std::mutex mutex;
    mutable std::set<std::thread::id> readers;
  };
  const auto source = std::make_shared<Watched>(32, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(32, 0);
  Loader loader(source, {}, kModel, kClasses, options(32, 4, 1));
  EXPECT_EQ(loader.next().rows(), 32);
  const std::lock_guard lock(source->mutex);
  EXPECT_EQ(source->readers.size(), 4U);
}

TEST(Loader, DropsRowsAloneAndInOrder) {
  class Holes : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
      if (index % 5 == 1) throw SampleError({.file = std::to_string(index), .byte = 0, .words = "hole"});
      VectorSource::read(index, input, out, {});
    }
    std::shared_ptr<BadSamples> bad_samples() const override { return account; }
    std::shared_ptr<BadSamples> account;
  };
  std::vector<Copy> reference;
  std::vector<std::string> account;
  for (const int workers : {1, 2, 5}) {
    const auto source = std::make_shared<Holes>(53, Shape{2, 3, 1});
    source->contiguous = false;
    for (std::int64_t i = 0; i < 53; ++i) source->classes.push_back(i % 4);
    OnError skip;
    skip.skip = true;
    source->account = std::make_shared<BadSamples>(skip, 53, "test");
    Loader loader(source, {}, kModel, kClasses, options(16, workers));
    const std::vector<Copy> found = epochs(loader, 2);
    std::vector<std::string> bad;
    for (const BadSample& sample : source->account->all()) bad.push_back(sample.file);
    if (workers == 1) {
      reference = found;
      account = bad;
      EXPECT_EQ(bad.size(), 11U);
      for (const Copy& batch : found)
        for (std::size_t row = 0; row < batch.indices.size(); ++row) {
          EXPECT_NE(batch.indices[row] % 5, 1);
          EXPECT_EQ(batch.input[row * 6 + 2], static_cast<float>(100 * batch.indices[row] + 2));
          EXPECT_EQ(batch.labels[row], batch.indices[row] % 4);
        }
    }
    EXPECT_EQ(found, reference);
    EXPECT_EQ(bad, account);
  }
}

TEST(Loader, MeasuresWaiting) {
  class SlowSource : public VectorSource {
   public:
    using VectorSource::VectorSource;
    void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      VectorSource::read(index, input, out, hint);
    }
  };
  const auto source = std::make_shared<SlowSource>(8, Shape{2, 3, 1});
  source->contiguous = false;
  source->classes.assign(8, 0);
  Loader loader(source, {}, kModel, kClasses, options(4, 1, 1));
  const Stopwatch watch;
  const double waited = loader.next().waited();
  EXPECT_LE(waited, watch.seconds());
  EXPECT_GT(waited, 0.02);  // four samples of 50 ms, less what passed before the clock ran
}

TEST(Loader, PartsOfADataSetAreGatheredFromTheWhole) {
  const auto whole = source_of(30);
  const auto part = subset(whole, {3, 29, 7, 11}, "test");
  LoaderOptions o = options(3);
  o.shuffle.kind = Shuffle::Kind::kNone;
  Loader loader(part, {}, kModel, kClasses, o);
  const Copy batch = copy(loader.next());
  EXPECT_THAT(batch.indices, ElementsAre(0, 1, 2));
  EXPECT_EQ(batch.input[6], 2900.0F);
  EXPECT_THAT(batch.labels, ElementsAre(3, 1, 3));
}

TEST(Loader, AddsTheMissingChannel) {
  const auto source = std::make_shared<VectorSource>(4, Shape{2, 3});
  source->classes.assign(4, 1);
  Loader loader(source, Pipeline({transform_family().make(RandomFlipSpec{})}, false), kModel, kClasses, options(4));
  EXPECT_EQ(loader.next().rows(), 4);
}

TEST(Loader, RefusesWhatTheModelCannotTake) {
  const auto refusal = [](const ModelSide& model, const Pipeline& pipeline = {}, const std::string& name = "") {
    const auto source = std::make_shared<VectorSource>(4, Shape{28, 28});
    source->classes.assign(4, 1);
    source->name = name;
    return error_of(ErrorKind::kData, [&] { Loader(source, pipeline, model, kClasses, options(4)); });
  };
  EXPECT_EQ(refusal(model_of({32, 32, 3}, {4})), "samples are 28x28, the model wants 32x32x3");
  EXPECT_EQ(refusal(model_of({32, 32, 1}, {4}), Pipeline({transform_family().make(CenterCropSpec{24, 24})}, false)),
            "samples are 28x28, after the transforms 24x24x1, the model wants 32x32x1");
  ModelSide two = model_of({28, 28, 1}, {4});
  two.input_names = {"left", "right"};
  two.input_shapes = {Shape{28, 28, 1}, Shape{28, 28, 1}};
  EXPECT_EQ(refusal(two),
            "the model has the inputs left, right, the data set one without a name; write inputs as {name: file}");
  EXPECT_EQ(refusal(two, {}, "lefty"),
            "the data set has no input 'left' that the model wants; it has lefty; did you mean 'lefty'?");
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { Loader(source_of(4), {}, kModel, kClasses, options(0)); }),
            "batch_size must be >= 1, found 0");
}

TEST(LoaderLabels, OutOfRangeIsFoundBeforeTraining) {
  const auto source = source_of(30);
  source->classes[17] = 12;
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { Loader(source, {}, kModel, kClasses, options(4)); }),
            "labels, item 17: label 12 is outside 0..3 (the model has 4 outputs)");
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [&] { Loader(source, {}, kModel, {{.kind = LabelKind::kDense, .width = 4}}, options(4)); }),
            "labels, item 17: label 12 is outside 0..3 (the model has 4 outputs)");
  source->classes[17] = -1;
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { Loader(source, {}, kModel, kClasses, options(4)); }),
            "labels, item 17: label -1 is outside 0..3 (the model has 4 outputs)");
  Loader unlabelled(source, {}, kModel, std::vector<LabelDelivery>{}, options(4));
  EXPECT_EQ(unlabelled.next().labels(), nullptr);
}

std::vector<float> dense(const std::shared_ptr<VectorSource>& source, std::int64_t width) {
  LoaderOptions o = options(2);
  o.shuffle.kind = Shuffle::Kind::kNone;
  Loader loader(source, {}, kModel, {{.kind = LabelKind::kDense, .width = width}}, o);
  const Batch batch = loader.next();
  const auto* rows = static_cast<const float*>(batch.labels());
  return {rows, rows + batch.rows() * width};
}

TEST(LoaderLabels, DenseRows) {
  EXPECT_THAT(dense(source_of(2), 1), ElementsAre(0, 1));
  EXPECT_THAT(dense(source_of(2), 3), ElementsAre(1, 0, 0, 0, 1, 0));
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  source->values = {{0.5F, -1}, {2, 3}};
  EXPECT_THAT(dense(source, 2), ElementsAre(0.5F, -1, 2, 3));
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { dense(source, 10); }),
            "labels, item 0: labels have 2 values per sample, the model has 10 outputs");
  source->values.clear();
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { dense(source, 10); }),
            "the data set has no labels, and the loss needs them");
}

TEST(LoaderLabels, CrossentropyWantsProbabilities) {
  const auto open = [](const std::shared_ptr<VectorSource>& source, std::int64_t width) {
    const std::vector<LabelDelivery> labels{
        {.output = "digits", .kind = LabelKind::kDense, .width = width, .probabilities = true}};
    return Loader(source, {}, kModel, labels, options(4)).samples();
  };
  const auto source = source_of(30);
  EXPECT_EQ(
      error_of(ErrorKind::kData, [&] { open(source, 1); }),
      "labels, item 2: label 2 is outside 0..1, which crossentropy wants; for more than two classes give the model "
      "an output for each and a softmax, and use sparse_categorical_crossentropy");
  EXPECT_EQ(open(source, 4), 30);  // one-hot rows
  for (std::int64_t i = 0; i < 30; ++i) source->classes[static_cast<std::size_t>(i)] = i % 2;
  EXPECT_EQ(open(source, 1), 30);

  const auto rows = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  rows->values = {{0.25F, 1}, {0, 0.75F}};
  EXPECT_EQ(open(rows, 2), 2);
  rows->values = {{0, 1}, {0.5F, -1}};
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { open(rows, 2); }),
            "labels, item 1: label -1 is outside 0..1, which crossentropy wants");
}

TEST(LoaderLabels, ClassesOutOfRows) {
  const auto source = std::make_shared<VectorSource>(2, Shape{2, 3, 1});
  const auto classes = [&](std::vector<std::vector<float>> values) {
    source->values = std::move(values);
    LoaderOptions o = options(2);
    o.shuffle.kind = Shuffle::Kind::kNone;
    Loader loader(source, {}, kModel, kClasses, o);
    return copy(loader.next()).labels;
  };
  EXPECT_THAT(classes({{0, 0, 0, 1}, {0, 1, 0, 0}}), ElementsAre(3, 1));
  EXPECT_THAT(classes({{2}, {0}}), ElementsAre(2, 0));
  EXPECT_EQ(
      error_of(ErrorKind::kData,
               [&] {
                 classes({{0, 0, 0, 1}, {0, 0.5F, 0.5F, 0}});
               }),
      "labels, item 1: the row is not one-hot; expected a single 1 among zeros, or a loss that takes rows, such as "
      "categorical_crossentropy");
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [&] {
                       classes({{1}, {1.5F}});
                     }),
            "labels, item 1: label 1.5 is not a class; expected a whole number in 0..3 (the model has 4 outputs)");
}

TEST(Loader, SeveralInputsByName) {
  ModelSide model = model_of({2, 3, 1}, {4});
  model.input_names = {"left", "right"};
  model.input_shapes = {Shape{4}, Shape{2, 2, 1}};
  SyntheticSpec spec;
  spec.samples = 9;
  const Sources sources = open_sources({.train = dataset_family().make(spec), .validation = {}, .test = {}}, model, 0);
  std::swap(model.input_names[0], model.input_names[1]);  // order does not matter, names do
  std::swap(model.input_shapes[0], model.input_shapes[1]);
  Loader loader(sources.train, {}, model, kClasses, options(5));
  const Batch batch = loader.next();
  Array right;
  sources.train->read(batch.indices()[2], 1, right);
  for (int e = 0; e < 4; ++e) EXPECT_EQ(batch.input(0)[2 * 4 + e], right.f32[static_cast<std::size_t>(e)]);
}

}  // namespace
}  // namespace dptrain::data
