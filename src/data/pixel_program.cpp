#include "data/pixel_program.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/transforms/transforms.h"

namespace dptrain::data {
namespace {

using kernels::kMaxPixelChannels;
using kernels::kMaxPixelOps;
using kernels::PixelOp;
using kernels::PixelOpKind;

std::int32_t small(std::int64_t n) { return static_cast<std::int32_t>(n); }

/// Of a transform that is one function, or one for each channel.
bool write_affine(const std::vector<float>& scale, const std::vector<float>& offset, PixelOp& op) {
  if (scale.size() > kMaxPixelChannels) return false;
  op.kind = PixelOpKind::kAffine;
  op.per_channel = scale.size() > 1;
  std::ranges::copy(scale, op.scale);
  std::ranges::copy(offset, op.offset);
  return true;
}

bool write_normalization(const NormalizationSpec& spec, PixelOp& op) {
  std::vector<float> scale, offset;
  for (std::size_t c = 0; c < std::max(spec.mean.size(), spec.variance.size()); ++c) {
    const double mean = spec.mean[spec.mean.size() == 1 ? 0 : c];
    const double variance = spec.variance[spec.variance.size() == 1 ? 0 : c];
    const double factor = 1 / std::max(std::sqrt(variance), 1e-7);
    scale.push_back(static_cast<float>(factor));
    offset.push_back(static_cast<float>(-mean * factor));
  }
  return write_affine(scale, offset, op);
}

void write_crop(std::int64_t height, std::int64_t width, std::int64_t padding, bool random, PixelOp& op) {
  op.kind = PixelOpKind::kCrop;
  op.height = small(height);
  op.width = small(width);
  op.padding = small(padding);
  op.random = random;
}

void write_clip(const std::vector<double>& range, PixelOp& op) {
  op.floor = static_cast<float>(range[0]);
  op.ceiling = static_cast<float>(range[1]);
  op.range = static_cast<float>(range[1] - range[0]);
}

/// What is special about each transform; false where it has no such form. Sizes in and out are there already.
bool write(const config::Typed& transform, std::int32_t channels, PixelOp& op) {
  if (const auto* rescaling = transform.get_if<RescalingSpec>())
    return write_affine({static_cast<float>(rescaling->scale)}, {static_cast<float>(rescaling->offset)}, op);
  if (const auto* normalization = transform.get_if<NormalizationSpec>()) return write_normalization(*normalization, op);
  if (const auto* crop = transform.get_if<CenterCropSpec>()) {
    write_crop(crop->height, crop->width, 0, false, op);
  } else if (const auto* drawn = transform.get_if<RandomCropSpec>()) {
    write_crop(drawn->height, drawn->width, drawn->padding, true, op);
  } else if (const auto* flip = transform.get_if<RandomFlipSpec>()) {
    op.kind = PixelOpKind::kFlip;
    op.columns = flip->mode != FlipMode::kVertical;
    op.rows = flip->mode != FlipMode::kHorizontal;
  } else if (const auto* brightness = transform.get_if<RandomBrightnessSpec>()) {
    op.kind = PixelOpKind::kBrightness;
    op.low = brightness->factor.size() == 1 ? -brightness->factor[0] : brightness->factor[0];
    op.high = brightness->factor.back();
    write_clip(brightness->value_range, op);
  } else if (const auto* contrast = transform.get_if<RandomContrastSpec>()) {
    op.kind = PixelOpKind::kContrast;
    op.low = 1 - contrast->factor.front();
    op.high = 1 + contrast->factor.back();
    write_clip(contrast->value_range, op);
    return channels <= kMaxPixelChannels;
  } else if (transform.get_if<PerImageStandardizationSpec>() != nullptr) {
    op.kind = PixelOpKind::kStandardize;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::optional<kernels::PixelProgram> pixel_program(const std::vector<config::Typed>& transforms, const Shape& sample,
                                                   std::uint64_t seed) {
  if (sample.rank() == 0 || transforms.size() > kMaxPixelOps) return std::nullopt;
  if (sample.elements() > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  kernels::PixelProgram program;
  program.seed = seed;
  program.purpose = static_cast<std::uint32_t>(Purpose::kTransform);
  const bool image = sample.rank() == 3;
  program.channels = small(sample.back());
  program.height = image ? small(sample[0]) : 1;
  program.width = small(sample.elements() / sample.back()) / program.height;
  program.out_height = program.height;
  program.out_width = program.width;
  for (const config::Typed& transform : transforms) {
    PixelOp& op = program.op[program.count];
    op.index = static_cast<std::uint32_t>(program.count++);
    op.in_height = op.height = program.out_height;
    op.in_width = op.width = program.out_width;
    if (!write(transform, program.channels, op)) return std::nullopt;
    program.out_height = op.height;
    program.out_width = op.width;
  }
  return program;
}

}  // namespace dptrain::data
