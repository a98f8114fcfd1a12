#include "data/length_buckets.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "data/fixtures.h"
#include "data/loader_batches.h"

namespace dptrain::data {
namespace {

using Order = std::vector<std::int64_t>;

/// Lengths 1 to 40, in no order.
LengthBuckets buckets_of(std::int64_t samples, std::int64_t window) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < samples; ++i) lengths.push_back(static_cast<std::int32_t>(1 + i * 17 % 40));
  return {window, std::make_shared<const std::vector<std::int32_t>>(std::move(lengths))};
}
Order ordered(const LengthBuckets& buckets, std::int64_t batch, std::uint64_t seed, std::int64_t epoch) {
  const auto samples = static_cast<std::int64_t>(buckets.lengths->size());
  return bucket_order(Loader::order(samples, {}, seed, epoch), buckets, batch, seed, epoch);
}
std::int32_t length_at(const LengthBuckets& buckets, const Order& order, std::size_t place) {
  return (*buckets.lengths)[static_cast<std::size_t>(order[place])];
}

TEST(LengthBuckets, EverySampleOnceAndBatchesFromShortToLong) {
  for (const std::int64_t samples : {1, 4, 7, 100, 103})
    for (const std::int64_t window : std::array<std::int64_t, 3>{1, 3, 1'000'000'000'000}) {
      SCOPED_TRACE(testing::Message() << samples << " samples, window " << window);
      const LengthBuckets buckets = buckets_of(samples, window);
      const Order order = ordered(buckets, 4, 5, 2);
      Order all = order, counting(static_cast<std::size_t>(samples));
      std::iota(counting.begin(), counting.end(), 0);
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, counting);
      for (std::size_t i = 1; i < order.size(); ++i) {
        if (i % 4 == 0) continue;  // of another batch
        EXPECT_LE(length_at(buckets, order, i - 1), length_at(buckets, order, i)) << "place " << i;
      }
    }
}

TEST(LengthBuckets, AWindowContainsOnlyItsSamples) {
  const LengthBuckets buckets = buckets_of(103, 5);
  Order plain = Loader::order(103, {}, 5, 2), order = ordered(buckets, 4, 5, 2);
  for (std::ptrdiff_t first = 0; first < 103; first += 20) {
    const std::ptrdiff_t end = std::min<std::ptrdiff_t>(103, first + 20);
    EXPECT_EQ(std::set(plain.begin() + first, plain.begin() + end),
              std::set(order.begin() + first, order.begin() + end));
  }
}

TEST(LengthBuckets, SamplesOfABatchHaveSimilarLengths) {
  const LengthBuckets buckets = buckets_of(400, 100);
  const Order order = ordered(buckets, 4, 1, 0);
  std::vector<std::int32_t> firsts;
  for (std::size_t i = 0; i < order.size(); i += 4) {
    EXPECT_LE(length_at(buckets, order, i + 3) - length_at(buckets, order, i), 1);
    firsts.push_back(length_at(buckets, order, i));
  }
  EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.end())) << "batches come in an order that is drawn";
}

TEST(LengthBuckets, DependOnSeedAndEpoch) {
  const LengthBuckets buckets = buckets_of(100, 5);
  EXPECT_EQ(ordered(buckets, 8, 1, 5), ordered(buckets, 8, 1, 5));
  EXPECT_NE(ordered(buckets, 8, 1, 5), ordered(buckets, 8, 1, 6));
  EXPECT_NE(ordered(buckets, 8, 1, 5), ordered(buckets, 8, 2, 5));
}

/// Seven samples in batches of four leave a short batch of three: the shortest or the longest samples.
TEST(LengthBuckets, TheShortBatchIsNotAlwaysTheLongest) {
  const LengthBuckets buckets{
      2, std::make_shared<const std::vector<std::int32_t>>(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7})};
  std::set<Order> rests;
  for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
    const Order order = ordered(buckets, 4, 9, epoch);
    rests.insert(Order(order.begin() + 4, order.end()));
  }
  EXPECT_EQ(rests, (std::set<Order>{{0, 1, 2}, {4, 5, 6}}));
}

TEST(LengthBuckets, ALoaderResumesInTheMiddleOfAnEpoch) {
  LoaderOptions options = loader_options(4, 2);
  options.buckets = buckets_of(30, 3);
  const auto source = numbered_source(30);
  Loader whole(source, Pipeline(), kLoaderModel, kLoaderClasses, options);
  const std::vector<Copy> all = epochs(whole, 2);
  ASSERT_EQ(all.size(), 16U);
  std::vector<std::int64_t> first_epoch;
  for (std::size_t b = 0; b < 8; ++b)
    first_epoch.insert(first_epoch.end(), all[b].indices.begin(), all[b].indices.end());
  EXPECT_EQ(first_epoch, ordered(options.buckets, 4, options.seed, 0));

  Loader later(source, Pipeline(), kLoaderModel, kLoaderClasses, options);
  later.seek(1, 12);
  for (std::size_t b = 11; b < all.size(); ++b) EXPECT_EQ(copy(later.next()), all[b]);
  EXPECT_EQ(later.next().rows(), 0);
}

/// Two inputs with a steps axis.
class StepsSource : public VectorSource {
 public:
  StepsSource() : VectorSource(3, Shape{4, 2, 1}) {}
  int inputs() const override { return 2; }
  std::string input_name(int input) const override { return input == 0 ? "ids" : "values"; }
  Shape input_shape(int input) const override { return input == 0 ? Shape{5} : Shape{4, 2}; }
  bool can_read_exact(int input, DType type) const override { return input == 0 && type == DType::kI32; }
  void read_exact(std::int64_t index, int, DType, void* out) const override {
    const std::vector<std::vector<std::int32_t>> ids{{7, 8, 0, 9, 0}, {0, 0, 0, 0, 0}, {0, 0, 3, 4, 5}};
    std::copy_n(ids[static_cast<std::size_t>(index)].begin(), 5, static_cast<std::int32_t*>(out));
  }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    const float pad = -1;
    const std::vector<std::vector<float>> samples{
        {1, pad, pad, pad, pad, pad, pad, pad}, {0, 0, pad, pad, 0, pad, pad, pad}, {1, 2, 3, 4, 5, 6, 7, pad}};
    out.shape = Shape{4, 2};
    out.type = DType::kF32;
    out.f32 = samples[static_cast<std::size_t>(index)];
  }
};

ModelSide steps_model(std::optional<double> padding) {
  ModelSide model;
  model.input_names = {"ids", "values"};
  model.input_shapes = {Shape{5}, Shape{4, 2}};
  model.input_types = {DType::kI32, DType::kF32};
  model.paddings = {std::nullopt, padding};
  return model;
}

TEST(SampleLengths, SpanTheFirstToTheLastStepThatIsNotPadding) {
  const StepsSource source;
  EXPECT_EQ(sample_lengths(source, steps_model(std::nullopt)), (std::vector<std::int32_t>{4, 0, 3}));
  EXPECT_EQ(sample_lengths(source, steps_model(-1)), (std::vector<std::int32_t>{4, 3, 4})) << "of the longest input";
}

class DrawnSource : public StepsSource {
  bool draws() const override { return true; }
};

TEST(SampleLengths, RejectSourcesThatDecodeFiles) {
  EXPECT_EQ(
      error_of(ErrorKind::kUsage, [] { sample_lengths(DrawnSource(), steps_model(-1)); }),
      "bucket_by_length: the lengths of all samples are read before training, and this data set decodes files for "
      "each; use IDX, Numpy, HDF5Dataset or another data set of arrays");
}

TEST(SampleLengths, WithoutInputsOfSteps) {
  const auto source = numbered_source(3);
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { sample_lengths(*source, kLoaderModel); }), kNoLengths);
}

}  // namespace
}  // namespace dptrain::data
