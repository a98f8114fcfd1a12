#include "session/gpu_figures.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::session {
namespace {

constexpr double kTera = 1e12;

/// Operations per second of these units, as a pass reaches them.
double reached(GpuUnits units, const GpuFigures& figures, const GpuShares& shares) {
  switch (units) {
    case GpuUnits::kVector: return figures.float32 * shares.vector;
    case GpuUnits::kStrict: return figures.float32 * shares.strict;
    case GpuUnits::kTf32: return figures.tf32 * shares.tf32;
    case GpuUnits::kSixteenBit: return figures.sixteen_bit * shares.sixteen_bit;
  }
  return 0;
}

}  // namespace

const GpuFigures& gpu_figures(const std::string& model) {
  // NVIDIA H100 and H200 Tensor Core GPU data sheets; the same chip, other memory.
  static const GpuFigures h100{.name = "NVIDIA H100",
                               .bytes = 3.35 * kTera,
                               .float32 = 67 * kTera,
                               .tf32 = 494 * kTera,
                               .sixteen_bit = 989 * kTera};
  static const GpuFigures h200 = [] {
    GpuFigures figures = h100;
    figures.name = "NVIDIA H200";
    figures.bytes = 4.8 * kTera;
    return figures;
  }();
  if (model == "h100") return h100;
  if (model == "h200") return h200;
  throw Error(ErrorKind::kInternal, fmt::format("no figures of a GPU called '{}'", model));
}

const GpuShares& gpu_shares() {
  // Fitted: bytes and products to ResNet-50 and VGG16, the launch to the network of dense layers in bfloat16, strict
  // products to ResNet-50, the launch by the host to the difference of both modes. The small networks of convolutions
  // were left out, to see how far the sum is from what was not fitted.
  static const GpuShares shares{.bytes = 0.70,
                                .vector = 0.50,
                                .strict = 0.09,
                                .tf32 = 0.44,
                                .sixteen_bit = 0.58,
                                .launch_seconds = 2.9e-6,
                                .eager_launch_seconds = 1.3e-6};
  return shares;
}

GpuTime gpu_time(const PassWork& work, int launches, GpuUnits units, const GpuFigures& figures,
                 const GpuShares& shares) {
  const double computing = work.operations > 0 ? work.operations / reached(units, figures, shares) : 0;
  const double moving = work.bytes / (figures.bytes * shares.bytes);
  const double launching = launches * shares.launch_seconds;
  const double larger = std::max(computing, moving);
  GpuTime time{.seconds = larger + launching, .by = "launches"};
  if (larger > launching)
    time.by = moving >= computing ? "memory" : units == GpuUnits::kVector ? "vectors" : "products";
  return time;
}

}  // namespace dptrain::session
