#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "data/transforms.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::data {
namespace {

void to_floats(Array& image) {
  if (image.type == DType::kF32) return;
  image.f32.resize(image.u8.size());
  kernels::cpu::u8_to_f32(image.u8.data(), 1, 0, image.f32.data(), static_cast<std::int64_t>(image.u8.size()));
  image.type = DType::kF32;
}

}  // namespace

config::Family& transform_family() {
  static config::Family family = [] {
    config::Family made("transform");
    for (const auto def : {rescaling_def, normalization_def, center_crop_def, random_crop_def, random_flip_def,
                           random_brightness_def, random_contrast_def, per_image_standardization_def})
      made.add(def());
    return made;
  }();
  return family;
}

std::unique_ptr<Transform> make_transform(const config::Typed& spec) {
  return static_cast<const TransformDef&>(spec.def()).make(spec.spec());
}

bool expect_pixels(const std::vector<config::Typed>& transforms) {
  // A scale this small, or a range this wide, makes sense for bytes only.
  constexpr double kLargestScale = 1.0 / 32, kSmallestRange = 128;
  const auto wide = [](const std::vector<double>& range) { return range[1] - range[0] > kSmallestRange; };
  return std::any_of(transforms.begin(), transforms.end(), [&](const config::Typed& spec) {
    if (const auto* rescaling = spec.get_if<RescalingSpec>()) return std::fabs(rescaling->scale) <= kLargestScale;
    if (const auto* brightness = spec.get_if<RandomBrightnessSpec>()) return wide(brightness->value_range);
    if (const auto* contrast = spec.get_if<RandomContrastSpec>()) return wide(contrast->value_range);
    if (const auto* normalization = spec.get_if<NormalizationSpec>())
      return std::sqrt(normalization->variance.front()) >= 1 / kLargestScale;
    return false;
  });
}

Pipeline::Pipeline(const std::vector<config::Typed>& transforms, bool evaluation) {
  for (const config::Typed& spec : transforms) {
    Step step{.transform = make_transform(spec), .place = spec.name()};
    if (spec.mark().known()) step.place = spec.mark().str() + ": error: " + spec.name();
    if (evaluation && step.transform->random())
      throw Error(ErrorKind::kUsage, step.place +
                                         ": random transforms cannot be used in evaluation; write transforms as "
                                         "{train: [...], eval: [...]} and leave it out of eval");
    steps_.push_back(std::move(step));
  }
}

Shape Pipeline::output(const Shape& input) const {
  Shape shape = input;
  for (const Step& step : steps_) {
    try {
      shape = step.transform->output(shape);
    } catch (const Error& error) {
      throw error.within(step.place);
    }
  }
  return shape;
}

void Pipeline::apply(Array& image, Array& spare, const DrawKey& key) const {
  std::uint32_t index = 0;
  for (const Step& step : steps_) {
    if (!step.transform->takes_u8()) to_floats(image);
    step.transform->apply(image, spare, key, index++);
  }
  to_floats(image);
}

std::optional<std::pair<float, float>> Pipeline::affine() const {
  std::pair<float, float> whole{1.0F, 0.0F};
  for (const Step& step : steps_) {
    const auto next = step.transform->affine();
    if (!next) return std::nullopt;
    whole = {whole.first * next->first, whole.second * next->first + next->second};
  }
  return whole;
}

bool Pipeline::random() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.transform->random(); });
}

}  // namespace dptrain::data
