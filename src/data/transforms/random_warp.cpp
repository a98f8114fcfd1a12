#include "data/transforms/random_warp.h"

#include <algorithm>

namespace dptrain::data {
namespace {

kernels::cpu::WarpFill kernel_fill(FillMode mode) {
  using kernels::cpu::WarpFill;
  switch (mode) {
    case FillMode::kReflect: return WarpFill::kReflect;
    case FillMode::kWrap: return WarpFill::kWrap;
    case FillMode::kConstant: return WarpFill::kConstant;
    case FillMode::kNearest: break;
  }
  return WarpFill::kNearest;
}

}  // namespace

RandomWarp::RandomWarp(const WarpArguments& arguments) {
  warp_.fill = kernel_fill(arguments.fill_mode);
  warp_.fill_value = static_cast<float>(arguments.fill_value);
  warp_.bilinear = arguments.interpolation == Interpolation::kBilinear;
}

Shape RandomWarp::output(const Shape& input) const {
  if (input.rank() > 0) check_image(input);
  return input;
}

void RandomWarp::apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const {
  out.shape = in.shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(in.shape.elements()));
  write(in, key, index, Finish{}, out, out.f32.data());
}

void RandomWarp::write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array&,
                       float* out) const {
  RandomStream stream = draws(key, index);
  const WarpMatrix matrix = draw(stream, static_cast<double>(in.shape[0]), static_cast<double>(in.shape[1]));
  kernels::cpu::Warp warp = warp_;
  std::transform(matrix.begin(), matrix.end(), warp.matrix, [](double m) { return static_cast<float>(m); });
  warp.mirror_x = finish.mirror.x;
  warp.mirror_y = finish.mirror.y;
  with_pixels(in, finish.map, [&](const auto& pixels) {
    const KernelMap map(finish.map, pixels.channels);
    kernels::cpu::warp(pixels, warp, map.get(), out);
  });
}

}  // namespace dptrain::data
