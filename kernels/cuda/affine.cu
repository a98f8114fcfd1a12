#include "kernels/cuda/affine.h"

#include "kernels/cuda/map.h"

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

struct AffineMap {
  float scale, offset;
  __device__ float operator()(float x) const { return x * scale + offset; }
};

}  // namespace

void scale_offset(const Launch& at, DType type, const void* x, float scale, float offset, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, AffineMap{scale, offset}, static_cast<T*>(y), static_cast<const T*>(x));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
