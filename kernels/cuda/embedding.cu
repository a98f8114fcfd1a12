#include "kernels/cuda/embedding.h"

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/number.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
__global__ void gather_rows_kernel(const std::int32_t* ids, std::int64_t elements, const T* table,
                                   std::int64_t table_rows, std::int64_t width, T* y) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const Split at = split(i, width);
    const std::int64_t id = ids[at.quotient];
    const bool known = id >= 0 && id < table_rows;
    y[i] = known ? table[id * width + at.remainder] : from_float<T>(number::cast_bits<float>(0x7FC00000U));
  }
}

__global__ void id_mask_kernel(const std::int32_t* ids, std::int64_t count, std::uint8_t* mask) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) mask[i] = ids[i] != 0 ? 1 : 0;
}

/// One thread per place and column. The first place of an id sums the gradients of all its places, in order.
template <class T>
__global__ void scatter_rows_kernel(const std::int32_t* ids, std::int64_t count, std::int64_t width, const T* dy,
                                    std::int64_t table_rows, float* gradient) {
  for (std::int64_t k = thread_number(); k < count * width; k += thread_count()) {
    const Split at = split(k, width);
    const std::int64_t i = at.quotient, id = ids[i];
    if (id < 0 || id >= table_rows) continue;
    bool first = true;
    for (std::int64_t j = 0; j < i && first; ++j) first = ids[j] != id;
    if (!first) continue;
    float sum = 0.0F;
    for (std::int64_t j = i; j < count; ++j)
      if (ids[j] == id) sum += to_float(dy[j * width + at.remainder]);
    gradient[id * width + at.remainder] = sum;
  }
}

}  // namespace

void gather_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* table,
                 std::int64_t table_rows, std::int64_t width, void* y, std::uint8_t* mask) {
  if (count <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, gather_rows_kernel<T>, grid_for(at, count * width), kBlock, ids, count * width,
                        static_cast<const T*>(table), table_rows, width, static_cast<T*>(y));
  });
  if (mask != nullptr) DPTRAIN_LAUNCH_FLAT(at, id_mask_kernel, grid_for(at, count), kBlock, ids, count, mask);
}

void scatter_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* dy,
                  std::int64_t table_rows, std::int64_t width, float* gradient) {
  if (count <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, scatter_rows_kernel<T>, grid_for(at, count * width), kBlock, ids, count, width,
                        static_cast<const T*>(dy), table_rows, gradient);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
