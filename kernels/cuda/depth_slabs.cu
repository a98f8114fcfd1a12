#include "kernels/cuda/depth_slabs.h"

#include <type_traits>

#include "kernels/cuda/words.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// `blocks`: positions * groups; `channels`: in words, unlike those of the window.
template <class Word>
__global__ void gather_slabs_kernel(const DepthWindow w, std::int64_t blocks, std::int64_t channels, const Word* volume,
                                    std::int64_t words, Word* slabs) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) {
    const Split c = split(i, channels), k = split(c.quotient, w.kernel), block = split(k.quotient, blocks),
                window = split(block.quotient, w.out_d);
    const std::int64_t d = window.remainder * w.stride + k.remainder * w.dilation - w.pad;
    Word word{};
    if (d >= 0 && d < w.in_d)
      word = volume[((window.quotient * w.in_d + d) * blocks + block.remainder) * channels + c.remainder];
    slabs[i] = word;
  }
}

template <class T, int V>
__global__ void sum_slabs_kernel(const DepthWindow w, std::int64_t blocks, const T* slabs, std::int64_t packs,
                                 T* volume) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Split c = split(i, w.channels / V), block = split(c.quotient, blocks), frame = split(block.quotient, w.in_d);
    Lanes<V> sum = all<V>(0.0F);
    for (std::int64_t k = w.kernel - 1; k >= 0; --k) {
      const std::int64_t at = frame.remainder + w.pad - k * w.dilation;
      if (at < 0) continue;
      const Split window = split(at, w.stride);
      if (window.remainder != 0 || window.quotient >= w.out_d) continue;
      const std::int64_t slab =
          ((frame.quotient * w.out_d + window.quotient) * blocks + block.remainder) * w.kernel + k;
      const Lanes<V> value = load<V>(slabs + slab * w.channels + c.remainder * V);
      DPTRAIN_UNROLL
      for (int v = 0; v < V; ++v) sum.v[v] += value.v[v];
    }
    store<V>(sum, volume + i * V);
  }
}

}  // namespace

void gather_slabs(const Launch& at, DType type, const DepthWindow& window, const void* volume, std::int64_t rows,
                  void* slabs) {
  if (rows <= 0) return;
  with_word(type, {window.channels}, {volume, slabs}, [&](auto zero) {
    using Word = decltype(zero);
    const std::int64_t words = in_words<Word>(type, rows * window.slab_elements());
    const auto kernel = gather_slabs_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, window, window.positions * window.groups,
                        in_words<Word>(type, window.channels), static_cast<const Word*>(volume), words,
                        static_cast<Word*>(slabs));
  });
}

void sum_slabs(const Launch& at, DType type, const DepthWindow& window, const void* slabs, std::int64_t rows,
               void* volume) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto launch = [&](auto v) {
      const std::int64_t packs = rows * window.volume_elements() / v;
      DPTRAIN_LAUNCH_FLAT(at, (sum_slabs_kernel<T, v>), grid_for(at, packs), kBlock, window,
                          window.positions * window.groups, static_cast<const T*>(slabs), packs,
                          static_cast<T*>(volume));
    };
    if (window.channels % kVector<T> == 0 && aligned(slabs, volume))
      launch(std::integral_constant<int, kVector<T>>{});
    else
      launch(std::integral_constant<int, 1>{});
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
