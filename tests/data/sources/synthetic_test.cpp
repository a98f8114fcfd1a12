#include "data/sources/synthetic.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/clock.h"
#include "data/fixtures.h"

namespace dptrain::data {
namespace {

SyntheticSpec spec_of(std::int64_t samples, std::int64_t classes = 0, std::uint64_t seed = 0) {
  SyntheticSpec spec;
  spec.samples = samples;
  spec.classes = classes;
  spec.seed = seed;
  return spec;
}

std::vector<float> read_row(const Source& source, std::int64_t index) {
  Array sample;
  source.read(index, 0, sample);
  if (sample.type == DType::kF32) return sample.f32;
  return {sample.u8.begin(), sample.u8.end()};
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return sum;
}

/// Mean image per class.
std::vector<std::vector<float>> means(const Source& source, std::size_t classes) {
  std::vector<std::vector<float>> mean(classes,
                                       std::vector<float>(static_cast<std::size_t>(source.input_shape(0).elements())));
  std::vector<float> count(classes);
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const auto k = static_cast<std::size_t>(source.label_class(i));
    const std::vector<float> sample = read_row(source, i);
    ++count[k];
    for (std::size_t e = 0; e < sample.size(); ++e) mean[k][e] += sample[e];
  }
  for (std::size_t k = 0; k < classes; ++k)
    for (float& e : mean[k]) e /= std::max(1.0F, count[k]);
  return mean;
}

/// Fraction of samples whose nearest class mean is their own.
double nearest_mean_accuracy(const Source& source, const std::vector<std::vector<float>>& mean) {
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const std::vector<float> sample = read_row(source, i);
    const auto nearest = std::min_element(mean.begin(), mean.end(), [&](const auto& a, const auto& b) {
      return distance(sample, a) < distance(sample, b);
    });
    right += nearest - mean.begin() == source.label_class(i) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(source.size());
}

TEST(Synthetic, RolesShareClassMeans) {
  for (const bool pixels : {false, true}) {
    ModelSide model = model_of({5, 7, 3}, {10});
    model.pixels = pixels;
    const auto train = make_synthetic(spec_of(500), model, Role::kTrain);
    const auto test = make_synthetic(spec_of(100), model, Role::kTest);
    EXPECT_NE(read_row(*train, 0), read_row(*test, 0));
    // 105 elements, noise as large as the pattern. Chance level is 0.1.
    EXPECT_GT(nearest_mean_accuracy(*test, means(*train, 10)), 0.95);
  }
}

TEST(Synthetic, FloatsHaveUnitScaleAndPixelsFullRange) {
  ModelSide model = model_of({9, 11, 3}, {10});
  const auto spread = [&] {
    const auto source = make_synthetic(spec_of(300), model, Role::kTrain);
    double sum = 0, squares = 0, count = 0, low = 1e9, high = -1e9;
    for (std::int64_t i = 0; i < source->size(); ++i)
      for (const float x : read_row(*source, i)) {
        const auto v = static_cast<double>(x);
        sum += v, squares += v * v, ++count, low = std::min(low, v), high = std::max(high, v);
      }
    return std::array{sum / count, std::sqrt(squares / count - sum / count * sum / count), low, high};
  };
  // 30 levels dominate the mean, whose standard deviation is 3 * 0.4 * 0.58 / sqrt(30) = 0.13.
  const auto [mean, deviation, low, high] = spread();
  EXPECT_NEAR(mean, 0, 0.4);
  EXPECT_NEAR(deviation, 1, 0.2);
  EXPECT_GE(low, -3.001);
  EXPECT_LE(high, 3.001);
  model.pixels = true;
  const auto [pixel_mean, pixel_deviation, darkest, brightest] = spread();
  EXPECT_NEAR(pixel_mean, 128, 20);
  EXPECT_NEAR(pixel_deviation, 43, 9);
  EXPECT_LT(darkest, 40);
  EXPECT_GT(brightest, 215);
}

TEST(Synthetic, DependsOnSeedAndIndex) {
  const ModelSide model = model_of({4, 3, 2}, {5});
  const auto a = make_synthetic(spec_of(50, 0, 7), model, Role::kTrain);
  const auto b = make_synthetic(spec_of(80, 0, 7), model, Role::kTrain);  // independent of the size
  const auto c = make_synthetic(spec_of(50, 0, 8), model, Role::kTrain);
  for (const std::int64_t i : {0, 17, 49}) {
    EXPECT_EQ(read_row(*a, i), read_row(*b, i));
    EXPECT_EQ(a->label_class(i), b->label_class(i));
    EXPECT_NE(read_row(*a, i), read_row(*c, i));
  }
  EXPECT_NE(a->fingerprint(), c->fingerprint());
}

TEST(Synthetic, RepeatsItsPool) {
  const auto source = make_synthetic(spec_of(100000), model_of({2, 2, 1}, {10}), Role::kTrain);
  EXPECT_EQ(source->size(), 100000);
  EXPECT_EQ(source->row(99999), 99999 % 4096);
  EXPECT_EQ(read_row(*source, 5), read_row(*source, 5 + 4096));
  EXPECT_EQ(source->label_class(5), source->label_class(5 + 4096));
  EXPECT_NE(read_row(*source, 5), read_row(*source, 6));
}

TEST(Synthetic, ClassesFollowTheModel) {
  const auto seen = [](const SyntheticSpec& spec, const Shape& output) {
    const auto source = make_synthetic(spec, model_of({3}, output), Role::kTrain);
    std::set<std::int64_t> classes;
    for (std::int64_t i = 0; i < source->size(); ++i) classes.insert(source->label_class(i));
    return classes;
  };
  EXPECT_EQ(seen(spec_of(300), {4}), (std::set<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(seen(spec_of(300), {1}), (std::set<std::int64_t>{0, 1}));
  EXPECT_EQ(seen(spec_of(300, 3), {7}), (std::set<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { seen(spec_of(3, 8), {7}); }),
            "classes is 8, but the model has 7 outputs");
}

TEST(Synthetic, OutputsWithAnImageShapeGetValues) {
  const auto source = make_synthetic(spec_of(20), model_of({3}, {4, 5}), Role::kTrain);
  ASSERT_EQ(source->label_type(), LabelType::kValues);
  ASSERT_EQ(source->label_width(), 20);
  std::vector<float> a(20), b(20);
  source->label_values(3, a.data());
  source->label_values(3, b.data());
  EXPECT_EQ(a, b);
}

TEST(Synthetic, SeveralInputs) {
  ModelSide model = model_of({3}, {2});
  model.input_names = {"left", "right"};
  model.input_shapes = {Shape{3}, Shape{2, 2, 1}};
  const auto source = make_synthetic(spec_of(30), model, Role::kTrain);
  EXPECT_EQ(source->inputs(), 2);
  EXPECT_EQ(source->input_name(1), "right");
  EXPECT_EQ(source->input_shape(1), (Shape{2, 2, 1}));
}

}  // namespace
}  // namespace dptrain::data
