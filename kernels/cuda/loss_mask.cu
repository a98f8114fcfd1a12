#include "kernels/cuda/loss_mask.h"

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
__global__ void leave_out_kernel(const std::uint8_t* mask, std::int64_t elements, std::int64_t width,
                                 const float* scale, T* gradient) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count())
    gradient[i] = from_float<T>(mask[split(i, width).quotient] != 0 ? *scale * to_float(gradient[i]) : 0.0F);
}

/// One block: whole numbers add up to the same in any order.
__global__ void count_valid_kernel(const std::uint8_t* mask, std::int64_t n, double* valid) {
  double count = 0.0;
  for (std::int64_t i = threadIdx.x; i < n; i += kBlock) count += static_cast<double>(mask[i]);
  count = block_sum(count);
  if (threadIdx.x == 0) *valid += count;
}

__global__ void mask_scale_kernel(const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                                  float* scale) {
  double sum = epsilon;
  for (int rank = 0; rank < ranks; ++rank) sum += valid[rank * stride];
  *scale = static_cast<float>(positions / sum);
}

}  // namespace

void leave_out(const Launch& at, DType type, const std::uint8_t* mask, std::int64_t rows, std::int64_t width,
               const float* scale, void* gradient) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, leave_out_kernel<T>, grid_for(at, rows * width), kBlock, mask, rows * width, width, scale,
                        static_cast<T*>(gradient));
  });
}

void count_valid(const Launch& at, const std::uint8_t* mask, std::int64_t n, double* valid) {
  if (n > 0) DPTRAIN_LAUNCH(at, count_valid_kernel, 1, kBlock, mask, n, valid);
}

void mask_scale(const Launch& at, const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                float* scale) {
  DPTRAIN_LAUNCH_FLAT(at, mask_scale_kernel, 1, 1, valid, ranks, stride, positions, epsilon, scale);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
