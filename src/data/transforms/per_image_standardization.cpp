#include "data/transforms/per_image_standardization.h"

#include <algorithm>
#include <cmath>

#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class PerImageStandardization final : public Transform {
 public:
  explicit PerImageStandardization(const PerImageStandardizationSpec&) {}

  Shape output(const Shape& input) const override { return input; }
  void apply(const ImageView& in, Array& out, const DrawKey&, std::uint32_t) const override {
    copy_floats(in, out);
    const auto elements = static_cast<double>(out.f32.size());
    double sum = 0, squares = 0;
    for (const float x : out.f32) sum += static_cast<double>(x);
    const double mean = sum / elements;
    for (const float x : out.f32) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
    const double scale = 1 / std::max(std::sqrt(squares / elements), 1 / std::sqrt(elements));
    for (float& x : out.f32) x = static_cast<float>((static_cast<double>(x) - mean) * scale);
  }
  std::optional<exporting::ImageStep> image_step() const override { return exporting::StandardizeImage{}; }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    return op.kind = kernels::PixelOpKind::kStandardize, true;
  }
};

const RegisteredTransform kPerImageStandardization =
    transform_def<PerImageStandardizationSpec, PerImageStandardization>(
        config::Schema::of<PerImageStandardizationSpec>("PerImageStandardization"));

}  // namespace

}  // namespace dptrain::data
