// Compares transforms with given draws, on bytes and on floats, with values of Keras 3 (tests/golden/transforms.json,
// which names the versions).

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "data/fixtures.h"
#include "data/transforms/colour.h"
#include "data/transforms/draws.h"
#include "data/transforms/erasing.h"
#include "data/transforms/geometry.h"
#include "data/transforms/mixing.h"
#include "data/transforms/pixels.h"
#include "data/transforms/rand_augment.h"
#include "data/transforms/random_gaussian_blur.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

using nlohmann::json;

const json& cases(const char* name) {
  static const json values = json::parse(std::ifstream(dptrain::test::test_data("golden/transforms.json")));
  return values[name];
}

Array bytes_of(const Shape& shape, bool turned = false) {
  Array made{.shape = shape, .type = DType::kU8, .u8 = {}, .f32 = {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto byte = static_cast<std::uint8_t>((37 * i + 11 * (i / 7) + 101 * (i / 13)) % 256);
    made.u8.push_back(turned ? static_cast<std::uint8_t>(255 - byte) : byte);
  }
  return made;
}
Array floats_of(const Array& bytes, float scale = 1) {
  Array made{.shape = bytes.shape, .type = DType::kF32, .u8 = {}, .f32 = {}};
  for (const std::uint8_t byte : bytes.u8) made.f32.push_back(static_cast<float>(byte) * scale);
  return made;
}

/// Values of bytes, rounded to 1e-4; float sums in another order differ by about 255 * 2^-22.
void expect_values(const Array& found, const json& entry, float scale = 1) {
  ASSERT_EQ(found.f32.size(), entry["values"].size());
  for (std::size_t i = 0; i < found.f32.size(); ++i)
    ASSERT_NEAR(found.f32[i] * scale, entry["values"][i].get<float>(), 3e-4F) << entry.dump() << ", element " << i;
}

TEST(GoldenTransforms, Hue) {
  for (const json& entry : cases("hue")) {
    const std::vector<double> range = entry["range"];
    const float scale = range[1] == 1 ? 1 / 255.0F : 1.0F;
    Array image = floats_of(bytes_of({4, 3, 3}), scale);
    rotate_hue(image, entry["delta"], range);
    expect_values(image, entry, 1 / scale);
  }
}

TEST(GoldenTransforms, Saturation) {
  for (const json& entry : cases("saturation")) {
    Array image = floats_of(bytes_of({4, 3, 3}));
    scale_saturation(image, saturation_scale(entry["factor"]));
    expect_values(image, entry);
  }
}

TEST(GoldenTransforms, Grayscale) {
  Array image = floats_of(bytes_of({4, 3, 3}));
  make_gray(image);
  expect_values(image, cases("grayscale")[0]);
}

TEST(GoldenTransforms, GaussianBlur) {
  for (const json& entry : cases("blur")) {
    const Array bytes = bytes_of({6, 4, 2}), floats = floats_of(bytes);
    for (const Array* image : {&bytes, &floats}) {
      Array out;
      gaussian_blur(view_of(*image), entry["kernel"], entry["sigma"][0], entry["sigma"][1], out);
      expect_values(out, entry);
    }
  }
}

/// A transform that warps by a given matrix.
class GivenShear final : public RandomWarp {
 public:
  GivenShear(const WarpArguments& arguments, const WarpMatrix& matrix) : RandomWarp(arguments), matrix_(matrix) {}

 protected:
  WarpMatrix draw(RandomStream&, double, double) const override { return matrix_; }

 private:
  WarpMatrix matrix_;
};

TEST(GoldenTransforms, Shear) {
  for (const json& entry : cases("shear")) {
    WarpArguments arguments;
    arguments.fill_value = 7;
    for (const auto& [mode, word] : config::EnumNames<FillMode>::names)
      if (entry["fill_mode"] == word) arguments.fill_mode = mode;
    const Array bytes = bytes_of({6, 5, 1}), floats = floats_of(bytes);
    for (const Array* image : {&bytes, &floats}) {
      Array out;
      GivenShear(arguments, shear_matrix(entry["x"], entry["y"])).apply(view_of(*image), out, {}, 0);
      expect_values(out, entry);
    }
  }
}

TEST(GoldenTransforms, Erasing) {
  for (const json& entry : cases("erasing")) {
    const BoxDraw draw{.width = entry["width"], .height = entry["height"], .x = entry["x"], .y = entry["y"]};
    RandomErasingSpec spec;
    spec.fill_value = entry["fill_value"].get<std::vector<double>>();
    Array image = floats_of(bytes_of({7, 9, 3}));
    RandomStream stream(1, 2);
    erase(image, box_of(draw, image.shape), spec, stream);
    expect_values(image, entry);
  }
}

void expect_labels(float weight, const json& entry) {
  const std::vector<float> expected = entry["labels"];
  EXPECT_NEAR(weight, expected[1], 1e-4F);
  EXPECT_NEAR(1 - weight, expected[3], 1e-4F);
}

TEST(GoldenTransforms, MixUp) {
  const json& entry = cases("mix_up")[0];
  const Array own = bytes_of({5, 4, 3}), other = bytes_of({5, 4, 3}, true);
  Array out;
  mix_images(view_of(own), view_of(other), entry["weight"], out);
  expect_values(out, entry);
  mix_images(view_of(floats_of(own)), view_of(floats_of(other)), entry["weight"], out);
  expect_values(out, entry);
  expect_labels(entry["weight"], entry);
}

TEST(GoldenTransforms, CutMix) {
  for (const json& entry : cases("cut_mix")) {
    const Array own = bytes_of({5, 4, 3}), other = bytes_of({5, 4, 3}, true);
    const BoxDraw draw{.width = entry["side"], .height = entry["side"], .x = entry["x"], .y = entry["y"]};
    const Window box = box_of(draw, own.shape);
    Array out;
    paste(view_of(own), view_of(other), box, out);
    EXPECT_EQ(out.type, DType::kU8);
    expect_values(floats_of(out), entry);
    paste(view_of(floats_of(own)), view_of(floats_of(other)), box, out);
    expect_values(out, entry);
    expect_labels(1 - draw.width * draw.height, entry);
  }
}

void augment(Array& image, const std::string& op, const std::vector<float>& draws, const ValueRange& range) {
  if (op == "degenerate_color") return degenerate_color(image, draws[0], range);
  if (op == "sharpen") return sharpen(image, draws[0], range);
  if (op == "posterize") return posterize(image, static_cast<int>(draws[0]), range);
  if (op == "solarize") return solarize(image, draws[0], draws[1], range);
  if (op == "stretch_contrast") return stretch_contrast(image, range);
  if (op == "equalize") return equalize(image, range);
  FAIL() << op;
}

TEST(GoldenTransforms, OperationsOfRandAugment) {
  std::set<std::string> seen;
  for (const json& entry : cases("augment")) {
    const std::vector<double> range = entry["range"];
    const float scale = range[1] == 1 ? 1 / 255.0F : 1.0F;
    Array image = floats_of(bytes_of({4, 3, 3}));
    for (float& x : image.f32) x = (entry.contains("half") ? std::min(x * 0.5F + 40, 200.0F) : x) * scale;
    augment(image, entry["op"], entry["draws"], range);
    expect_values(image, entry, 1 / scale);
    seen.insert(entry["op"].get<std::string>());
  }
  EXPECT_EQ(seen.size(), 6U);
}

TEST(GoldenTransforms, KeepsFlatChannels) {
  Array flat{.shape = {2, 2, 1}, .type = DType::kF32, .u8 = {}, .f32 = std::vector<float>(4, 77)};
  const std::vector<float> before = flat.f32;
  stretch_contrast(flat, {0, 255});
  EXPECT_EQ(flat.f32, before);
  equalize(flat, {0, 255});
  EXPECT_EQ(flat.f32, before);
}

}  // namespace
}  // namespace dptrain::data
