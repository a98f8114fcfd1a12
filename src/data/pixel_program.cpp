#include "data/pixel_program.h"

#include <limits>

#include "core/random.h"
#include "data/transform.h"

namespace dptrain::data {
namespace {

using kernels::kMaxPixelOps;
using kernels::PixelOp;

std::int32_t small(std::int64_t n) { return static_cast<std::int32_t>(n); }

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
    const auto made = make_transform(transform);
    if (sample.rank() == 4 && !made->channel_map()) return std::nullopt;  // programs do not support clips
    if (!made->write_op(program.channels, op)) return std::nullopt;
    program.out_height = op.height;
    program.out_width = op.width;
  }
  return program;
}

}  // namespace dptrain::data
