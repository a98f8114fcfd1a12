// MixUp and CutMix in the loader: partners, labels, and independence of workers and batches.

#include "data/mixing.h"

#include <gmock/gmock.h>

#include <map>

#include "data/cache.h"
#include "data/fixtures.h"
#include "data/loader.h"
#include "data/pixel_program.h"
#include "data/transforms/geometry.h"
#include "data/transforms/mixing.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

using nn::LabelKind;
using testing::HasSubstr;

constexpr std::int64_t kMixed = 23, kMixedElements = 4 * 3, kMixedClasses = 5;
const ModelSide kMixModel = model_of({4, 3, 1}, {kMixedClasses});
const std::vector<LabelForm> kMixedRows{{.output = "digits", .kind = LabelKind::kDense, .width = kMixedClasses}};

/// Contains unreadable samples that may be skipped.
class HoledSource final : public VectorSource {
 public:
  using VectorSource::VectorSource;
  std::int64_t hole = -1;

  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    if (index == hole) throw SampleError({.file = "hole", .byte = 0, .reason = "nothing there"});
    VectorSource::read(index, input, out, hint);
  }
  std::shared_ptr<BadSamples> bad_samples() const override { return hole >= 0 ? account_ : nullptr; }

 private:
  std::shared_ptr<BadSamples> account_ = std::make_shared<BadSamples>(OnError{.skip = true}, size(), "set");
};

std::shared_ptr<HoledSource> holed(std::int64_t hole = -1) {
  auto source = std::make_shared<HoledSource>(kMixed, Shape{4, 3, 1});
  source->contiguous = hole < 0;
  source->hole = hole;
  for (std::int64_t i = 0; i < kMixed; ++i) source->classes.push_back(i % kMixedClasses);
  return source;
}

struct Row {
  std::vector<float> image, label;
  bool operator==(const Row&) const = default;
};

std::map<std::int64_t, Row> rows_of(const std::shared_ptr<const Source>& source, const Pipeline& pipeline,
                                    std::int64_t batch, int workers, Shuffle::Kind order = Shuffle::Kind::kFull,
                                    std::int64_t epoch = 1) {
  LoaderOptions options;
  options.batch_size = batch;
  options.workers = workers;
  options.seed = 4;
  options.shuffle.kind = order;
  Loader loader(source, pipeline, kMixModel, kMixedRows, options);
  loader.seek(epoch, 0);
  std::map<std::int64_t, Row> rows;
  for (Batch b = loader.next(); b.rows() > 0; b = loader.next())
    for (std::int64_t r = 0; r < b.rows(); ++r) {
      const float* const image = b.input(0) + r * kMixedElements;
      const float* const label = static_cast<const float*>(b.labels()) + r * kMixedClasses;
      rows[b.indices()[static_cast<std::size_t>(r)]] = {{image, image + kMixedElements},
                                                        {label, label + kMixedClasses}};
    }
  return rows;
}

template <class... Specs>
Pipeline mixing_pipeline(const Specs&... specs) {
  return Pipeline({transform_family().make(specs)...}, false);
}

TEST(Mixing, DependsOnlyOnSampleAndEpoch) {
  const Pipeline pipeline =
      mixing_pipeline(RandomFlipSpec{}, MixUpSpec{1.0}, CutMixSpec{}, RandomFlipSpec{}, RescalingSpec{0.5, 0});
  const auto reference = rows_of(holed(), pipeline, 5, 1);
  EXPECT_EQ(reference.size(), static_cast<std::size_t>(kMixed));
  for (const int workers : {1, 3})
    for (const std::int64_t batch : {1, 4, 23})
      EXPECT_EQ(rows_of(holed(), pipeline, batch, workers), reference) << batch << " " << workers;
  EXPECT_EQ(rows_of(holed(), pipeline, 7, 2, Shuffle::Kind::kNone), reference);
  EXPECT_NE(rows_of(holed(), pipeline, 5, 1, Shuffle::Kind::kFull, 2), reference);
}

/// Element e of sample i is 100 i + e, so two pixels determine the partner and its share.
TEST(Mixing, MixUpMixesImagesAndLabelsEqually) {
  const Pipeline pipeline = mixing_pipeline(MixUpSpec{1.0});
  const auto transform = make_transform(transform_family().make(MixUpSpec{1.0}));
  const Mixing& mixer = *transform->mixing();
  std::map<std::int64_t, int> partners;
  for (const auto& [index, row] : rows_of(holed(), pipeline, 4, 2)) {
    const DrawKey key{.seed = 4, .sample = static_cast<std::uint64_t>(index), .epoch = 1};
    const std::int64_t partner = mixer.partner(key, 0, kMixed);
    const float weight = mixer.weight(key, 0);
    std::vector<float> label(kMixedClasses);
    label[static_cast<std::size_t>(index % kMixedClasses)] += weight;
    label[static_cast<std::size_t>(partner % kMixedClasses)] += 1 - weight;
    for (std::size_t e = 0; e < kMixedElements; ++e)
      EXPECT_NEAR(row.image[e],
                  static_cast<float>(100 * partner + static_cast<std::int64_t>(e)) +
                      weight * static_cast<float>(100 * (index - partner)),
                  1e-3F);
    for (std::size_t k = 0; k < kMixedClasses; ++k) EXPECT_NEAR(row.label[k], label[k], 1e-6F);
    ++partners[partner];
  }
  EXPECT_GT(partners.size(), 8U);
}

TEST(Mixing, CutMixTakesPixelsByArea) {
  double area = 0, weight = 0;
  for (std::int64_t epoch = 0; epoch < 40; ++epoch)
    for (const auto& [index, row] :
         rows_of(holed(), mixing_pipeline(CutMixSpec{{1, 1}}), 8, 1, Shuffle::Kind::kNone, epoch)) {
      int own = 0;
      for (std::size_t e = 0; e < kMixedElements; ++e) {
        const auto from = static_cast<std::int64_t>(row.image[e]) / 100;
        EXPECT_EQ(row.image[e], static_cast<float>(100 * from + static_cast<std::int64_t>(e)));
        own += from == index ? 1 : 0;
      }
      float sum = 0;
      for (const float part : row.label) sum += part;
      EXPECT_NEAR(sum, 1, 1e-6F);
      area += own / static_cast<double>(kMixedElements);
      weight += static_cast<double>(row.label[static_cast<std::size_t>(index % kMixedClasses)]);
    }
  // Beta(1, 1) has the mean 1/2; a partner may be the sample itself or of its class. Rectangles of so few pixels cover
  // less than their area, as the first row and column are covered only if they begin at 0. Hence 0.641, Keras's mean
  // over many draws.
  EXPECT_NEAR(area / (40 * kMixed), 0.641 + 0.359 / kMixed, 0.04);
  EXPECT_NEAR(weight / (40 * kMixed), 0.5 + 0.5 / kMixedClasses, 0.04);
}

/// The unreadable partner is reported when its own position is read; no other row is dropped for it.
TEST(Mixing, SkipsUnreadablePartners) {
  constexpr std::int64_t kHole = 6;
  const Pipeline pipeline = mixing_pipeline(MixUpSpec{1.0});
  const auto whole = rows_of(holed(), pipeline, 4, 2), found = rows_of(holed(kHole), pipeline, 4, 2);
  EXPECT_EQ(found, rows_of(holed(kHole), pipeline, 9, 1));
  EXPECT_EQ(found.size(), whole.size() - 1);
  EXPECT_FALSE(found.contains(kHole));
  const auto transform = make_transform(transform_family().make(MixUpSpec{1.0}));
  const Mixing& mixer = *transform->mixing();
  int alone = 0;
  for (const auto& [index, row] : found) {
    const DrawKey key{.seed = 4, .sample = static_cast<std::uint64_t>(index), .epoch = 1};
    if (mixer.partner(key, 0, kMixed) != kHole) {
      EXPECT_EQ(row, whole.at(index));
      continue;
    }
    ++alone;
    EXPECT_EQ(row.image[1], static_cast<float>(100 * index + 1));
    EXPECT_EQ(row.label[static_cast<std::size_t>(index % kMixedClasses)], 1);
  }
  EXPECT_GT(alone, 0);
}

TEST(Mixing, AppliesEarlierTransformsPerSample) {
  const auto halves = rows_of(holed(), mixing_pipeline(RescalingSpec{0.5, 0}, MixUpSpec{}), 4, 1);
  const auto whole = rows_of(holed(), mixing_pipeline(RescalingSpec{1, 0}, MixUpSpec{}), 4, 1);
  for (const auto& [index, row] : whole)
    for (std::size_t e = 0; e < kMixedElements; ++e) EXPECT_NEAR(halves.at(index).image[e], row.image[e] / 2, 1e-3F);
}

TEST(Mixing, CachesContainEarlierTransforms) {
  const Pipeline pipeline = mixing_pipeline(RescalingSpec{0.5, 1}, MixUpSpec{}, RescalingSpec{2, 0});
  const auto source = holed();
  CacheOptions options;
  options.kind = CacheOptions::Kind::kMemory;
  source->contiguous = false;  // samples in memory are not cached
  const auto [samples, rest] = cached(source, pipeline, options, "train");
  EXPECT_EQ(rows_of(samples, rest, 4, 2), rows_of(holed(), pipeline, 4, 2));
}

TEST(Mixing, RequiresOneShapeRowsAndTheHost) {
  EXPECT_THAT(error_of(ErrorKind::kUsage, [] { mixing_pipeline(MixUpSpec{}).check_mixing(true); }),
              HasSubstr("MixUp: samples of several sizes cannot be mixed; put `Resizing"));
  mixing_pipeline(MixUpSpec{}).check_mixing(false);
  EXPECT_FALSE(pixel_program({transform_family().make(MixUpSpec{})}, {4, 3, 1}, 1));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [] { Pipeline({transform_family().make(CutMixSpec{})}, true); }),
              HasSubstr("CutMix: random transforms cannot be used in evaluation"));
}

}  // namespace
}  // namespace dptrain::data
