#include "data/sources/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "core/error.h"
#include "data/loader.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kSamples = 7;

/// Labels and two inputs. The second input cannot be read.
class Labelled final : public Source {
 public:
  std::int64_t size() const override { return kSamples; }
  int inputs() const override { return 2; }
  std::string input_name(int input) const override { return input == 0 ? "x" : "y"; }
  Shape input_shape(int) const override { return {2}; }
  void read(std::int64_t index, int input, Array&, const ReadHint&) const override {
    if (input == 1) throw Error(ErrorKind::kData, "sample " + std::to_string(index) + " cannot be read");
  }
  LabelType label_type(int) const override { return LabelType::kClass; }
  std::int64_t label_width(int) const override { return 1; }
  std::int64_t label_class(std::int64_t index, int) const override { return index % 3; }
  void label_values(std::int64_t, float*, int) const override {}
  std::string label_place(std::int64_t index, int) const override { return "labels, item " + std::to_string(index); }
  std::vector<std::string> class_names(int) const override { return {"a", "b", "c"}; }
  std::string fingerprint() const override { return "labelled"; }
};

class FeaturesIn : public ::testing::TestWithParam<bool> {
 protected:
  FeaturesIn() { std::filesystem::create_directories(folder_); }
  ~FeaturesIn() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<Features> make() const {
    return std::make_shared<Features>(std::make_shared<Labelled>(),
                                      std::vector<FeatureInput>{{"x", {2, 3}}, {"y", {5}}},
                                      GetParam() ? folder_.string() : "");
  }
  static float value(std::int64_t sample, int input, std::int64_t i) {
    return static_cast<float>(1000 * sample + 100 * input + i);
  }
  static const std::byte* bytes_of(const std::vector<float>& row) {
    return reinterpret_cast<const std::byte*>(row.data());
  }
  static void store(Features& features, std::int64_t sample) {
    std::vector<float> x(6), y(5);
    for (std::int64_t i = 0; i < 6; ++i) x[static_cast<std::size_t>(i)] = value(sample, 0, i);
    for (std::int64_t i = 0; i < 5; ++i) y[static_cast<std::size_t>(i)] = value(sample, 1, i);
    features.store(sample, {bytes_of(x), bytes_of(y)});
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("dptrain-features-test-" + std::to_string(getpid()));
};

TEST_P(FeaturesIn, AreReadThroughALoaderInAnyOrder) {
  const auto features = make();
  for (const std::int64_t sample : {3, 0, 6, 1, 5, 2, 4}) store(*features, sample);
  EXPECT_EQ(features->missing(), 0);
  EXPECT_EQ(features->bytes(), 7U * 11 * 4);
  EXPECT_EQ(features->fingerprint(), "labelled");
  EXPECT_EQ(features->f32_rows(0) != nullptr, !GetParam());

  const ModelSide side{
      .input_names = {"x", "y"}, .input_shapes = {{2, 3}, {5}}, .output_names = {"z"}, .outputs = {{3}}};
  Loader loader(features, Pipeline(), side, {{.width = 3}}, {.batch_size = 3, .shuffle = {}, .seed = 4, .workers = 2});
  std::int64_t seen = 0;
  for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next())
    for (std::int64_t row = 0; row < batch.rows(); ++row, ++seen) {
      const std::int64_t sample = batch.indices()[static_cast<std::size_t>(row)];
      for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(batch.input(0)[row * 6 + i], value(sample, 0, i));
      for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(batch.input(1)[row * 5 + i], value(sample, 1, i));
      EXPECT_EQ(static_cast<const std::int32_t*>(batch.labels())[row], sample % 3);
    }
  EXPECT_EQ(seen, kSamples);
}

TEST_P(FeaturesIn, KeepIdsAndMasks) {
  Features features(std::make_shared<Labelled>(), {{"ids", {3}, DType::kI32}, {"mask", {3}, DType::kU8}, {"x", {1}}},
                    GetParam() ? folder_.string() : "");
  for (std::int32_t sample = 0; sample < kSamples; ++sample) {
    const std::array<std::int32_t, 3> ids{sample, 16777217 + sample, -1};
    const std::array<std::uint8_t, 3> mask{1, static_cast<std::uint8_t>(sample % 2), 0};
    const float x = 0.5F * static_cast<float>(sample);
    features.store(sample, {reinterpret_cast<const std::byte*>(ids.data()),
                            reinterpret_cast<const std::byte*>(mask.data()), reinterpret_cast<const std::byte*>(&x)});
  }
  EXPECT_TRUE(features.can_read_exact(0, DType::kI32));
  EXPECT_FALSE(features.can_read_exact(0, DType::kU8));
  EXPECT_FALSE(features.can_read_exact(2, DType::kI32));
  for (std::int32_t sample = 0; sample < kSamples; ++sample) {
    std::array<std::int32_t, 3> ids{};
    std::array<std::uint8_t, 3> mask{};
    Array x;
    features.read_exact(sample, 0, DType::kI32, ids.data());
    features.read_exact(sample, 1, DType::kU8, mask.data());
    features.read(sample, 2, x, {});
    EXPECT_EQ(ids[1], 16777217 + sample);
    EXPECT_EQ(mask[1], sample % 2);
    EXPECT_EQ(x.f32[0], 0.5F * static_cast<float>(sample));
  }
}

TEST_P(FeaturesIn, FailLikeTheirUnreadableSample) {
  const auto features = make();
  for (std::int64_t sample = 0; sample < kSamples; ++sample)
    if (sample != 4) store(*features, sample);
  EXPECT_EQ(features->missing(), 1);
  EXPECT_EQ(features->f32_rows(0), nullptr);
  Array out;
  features->read(3, 1, out, {});
  EXPECT_EQ(out.f32.front(), value(3, 1, 0));
  try {
    features->read(4, 0, out, {});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "sample 4 cannot be read");
  }
}

TEST_P(FeaturesIn, LeaveNoFile) {
  const auto features = make();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

INSTANTIATE_TEST_SUITE_P(Places, FeaturesIn, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "File" : "Memory"; });

TEST(Features, NamesTheFolderThatIsNotWritable) {
  try {
    Features(std::make_shared<Labelled>(), {{"x", {2}}}, "/nowhere/at/all");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kWrite);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/nowhere/at/all: cannot write features there"));
  }
}

TEST(Features, RejectsASmallDiskInAdvance) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  try {  // seven times 2 PiB: more than any disk
    Features(std::make_shared<Labelled>(), {{"x", {std::int64_t{1} << 49}}}, folder);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kWrite);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no room for"));
  }
}

}  // namespace
}  // namespace dptrain::data
