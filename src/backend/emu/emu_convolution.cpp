#include "backend/emu/emu_convolution.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/simt.h"

namespace dptrain::backend::emu {
namespace {

using gpu::ConvProblem;

constexpr std::int64_t kLanes = 16;

std::int64_t padded(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

/// Sixteen sums in registers.
struct Sums {
  using Four [[gnu::vector_size(16)]] = float;
  Four a{}, b{}, c{}, d{};

  static Four load(const float* from) {
    Four four;
    std::memcpy(&four, from, sizeof(four));
    return four;
  }
  /// += factor * values[0..16)
  void add(float factor, const float* values) {
    a += factor * load(values);
    b += factor * load(values + 4);
    c += factor * load(values + 8);
    d += factor * load(values + 12);
  }
  void store(float* to) const {
    std::memcpy(to, &a, sizeof(a));
    std::memcpy(to + 4, &b, sizeof(b));
    std::memcpy(to + 8, &c, sizeof(c));
    std::memcpy(to + 12, &d, sizeof(d));
  }
};

/// Maps outputs to inputs and back along one axis of a window.
struct Axis {
  std::int64_t stride, dilation, pad, in, out;

  std::int64_t input(std::int64_t o, std::int64_t tap) const { return o * stride + tap * dilation - pad; }
  bool has_input(std::int64_t i) const { return i >= 0 && i < in; }
  /// The output that reads input `i` through `tap`, or -1.
  std::int64_t output(std::int64_t i, std::int64_t tap) const {
    const std::int64_t at = i + pad - tap * dilation;
    return at >= 0 && at % stride == 0 && at / stride < out ? at / stride : -1;
  }
};
Axis rows_of(const ConvProblem& p) { return {p.stride_h, p.dilation_h, p.pad_top, p.in_h, p.out_h}; }
Axis columns_of(const ConvProblem& p) { return {p.stride_w, p.dilation_w, p.pad_left, p.in_w, p.out_w}; }

/// [outer, groups, width], with each group's width padded with zeros to whole lanes.
std::vector<float> with_lanes(const float* values, std::int64_t outer, std::int64_t groups, std::int64_t width) {
  const std::int64_t wide = padded(width);
  std::vector<float> to(static_cast<std::size_t>(outer * groups * wide), 0.0F);
  for (std::int64_t i = 0; i < outer * groups; ++i) std::copy_n(values + i * width, width, to.data() + i * wide);
  return to;
}

// The three passes on floats in host memory (layouts: backend/gpu/convolution.h). Results overwrite. Sixteen channels
// are computed at a time; each function's comment names the order of summation.

/// y = conv(x) + bias (bias may be null), then ReLU if problem.relu. Sums over r, s, c.
void convolve(const ConvProblem& p, const float* x, const float* filter, const float* bias, float* y) {
  const std::int64_t c = p.in_channels / p.groups, k = p.out_channels / p.groups, wide = padded(k),
                     taps = p.kernel_h * p.kernel_w * c;
  // [groups, r, s, c, k with lanes]
  std::vector<float> turned(static_cast<std::size_t>(p.groups * taps * wide), 0.0F);
  for (std::int64_t o = 0; o < p.out_channels; ++o)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      turned[static_cast<std::size_t>((o / k * taps + tap) * wide + o % k)] = filter[o * taps + tap];
  const Axis rows = rows_of(p), columns = columns_of(p);
  float lanes[kLanes];

  const auto point = [&](std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t g, std::int64_t first) {
    Sums sums;
    for (std::int64_t r = 0; r < p.kernel_h; ++r) {
      const std::int64_t h = rows.input(oh, r);
      if (!rows.has_input(h)) continue;
      for (std::int64_t s = 0; s < p.kernel_w; ++s) {
        const std::int64_t w = columns.input(ow, s);
        if (!columns.has_input(w)) continue;
        const float* const from = x + ((n * p.in_h + h) * p.in_w + w) * p.in_channels + g * c;
        const float* by = turned.data() + (g * taps + (r * p.kernel_w + s) * c) * wide + first;
        for (std::int64_t i = 0; i < c; ++i, by += wide) sums.add(from[i], by);
      }
    }
    sums.store(lanes);
  };

  for (std::int64_t at = 0; at < p.rows * p.out_h * p.out_w; ++at)
    for (std::int64_t g = 0; g < p.groups; ++g)
      for (std::int64_t first = 0; first < k; first += kLanes) {
        point(at / (p.out_h * p.out_w), at / p.out_w % p.out_h, at % p.out_w, g, first);
        const std::int64_t channel = g * k + first;
        for (std::int64_t i = 0; i < std::min(kLanes, k - first); ++i) {
          const float value = lanes[i] + (bias == nullptr ? 0.0F : bias[channel + i]);
          y[at * p.out_channels + channel + i] = p.relu && value <= 0.0F ? 0.0F : value;  // keeps NaN
        }
      }
}

/// Sums over r, s, k.
void convolve_data(const ConvProblem& p, const float* dy, const float* filter, float* dx) {
  const std::int64_t c = p.in_channels / p.groups, k = p.out_channels / p.groups, wide = padded(c),
                     taps = p.kernel_h * p.kernel_w;
  const std::vector<float> by = with_lanes(filter, p.out_channels * taps, 1, c);  // [k, r, s, c with lanes]
  const Axis rows = rows_of(p), columns = columns_of(p);
  float lanes[kLanes];

  const auto point = [&](std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t g, std::int64_t first) {
    Sums sums;
    for (std::int64_t r = 0; r < p.kernel_h; ++r) {
      const std::int64_t oh = rows.output(h, r);
      if (oh < 0) continue;
      for (std::int64_t s = 0; s < p.kernel_w; ++s) {
        const std::int64_t ow = columns.output(w, s);
        if (ow < 0) continue;
        const float* const from = dy + ((n * p.out_h + oh) * p.out_w + ow) * p.out_channels + g * k;
        const float* const tap = by.data() + (g * k * taps + r * p.kernel_w + s) * wide + first;
        for (std::int64_t o = 0; o < k; ++o) sums.add(from[o], tap + o * taps * wide);
      }
    }
    sums.store(lanes);
  };

  for (std::int64_t at = 0; at < p.rows * p.in_h * p.in_w; ++at)
    for (std::int64_t g = 0; g < p.groups; ++g)
      for (std::int64_t first = 0; first < c; first += kLanes) {
        point(at / (p.in_h * p.in_w), at / p.in_w % p.in_h, at % p.in_w, g, first);
        std::copy_n(lanes, std::min(kLanes, c - first), dx + at * p.in_channels + g * c + first);
      }
}

/// Sums over images, rows and columns of the output.
void convolve_weights(const ConvProblem& p, const float* x, const float* dy, float* dfilter) {
  const std::int64_t c = p.in_channels / p.groups, k = p.out_channels / p.groups, wide = padded(k),
                     taps = p.kernel_h * p.kernel_w * c;
  const std::int64_t all = p.groups * wide;  // channels of one point of `from`
  const std::vector<float> from = with_lanes(dy, p.rows * p.out_h * p.out_w, p.groups, k);
  const Axis rows = rows_of(p), columns = columns_of(p);

  /// Calls f(input point, output point) for all pairs at one tap.
  const auto each_pair = [&](std::int64_t r, std::int64_t s, const auto& f) {
    for (std::int64_t n = 0; n < p.rows; ++n)
      for (std::int64_t oh = 0; oh < p.out_h; ++oh) {
        const std::int64_t h = rows.input(oh, r);
        if (!rows.has_input(h)) continue;
        for (std::int64_t ow = 0; ow < p.out_w; ++ow) {
          const std::int64_t w = columns.input(ow, s);
          if (columns.has_input(w)) f((n * p.in_h + h) * p.in_w + w, (n * p.out_h + oh) * p.out_w + ow);
        }
      }
  };
  const auto write = [&](const Sums& sums, std::int64_t g, std::int64_t first, std::int64_t tap) {
    float lanes[kLanes];
    sums.store(lanes);
    for (std::int64_t i = 0; i < std::min(kLanes, k - first); ++i) dfilter[(g * k + first + i) * taps + tap] = lanes[i];
  };

  for (std::int64_t g = 0; g < p.groups; ++g)
    for (std::int64_t first = 0; first < k; first += kLanes)
      for (std::int64_t r = 0; r < p.kernel_h; ++r)
        for (std::int64_t s = 0; s < p.kernel_w; ++s) {
          const float* const gradients = from.data() + g * wide + first;
          const std::int64_t tap = (r * p.kernel_w + s) * c;
          std::int64_t i = 0;
          for (; i + 2 <= c; i += 2) {  // two input channels at a time, to read the gradients half as often
            Sums even, odd;
            each_pair(r, s, [&](std::int64_t in, std::int64_t out) {
              const float* const pixel = x + in * p.in_channels + g * c + i;
              even.add(pixel[0], gradients + out * all);
              odd.add(pixel[1], gradients + out * all);
            });
            write(even, g, first, tap + i);
            write(odd, g, first, tap + i + 1);
          }
          if (i == c) continue;
          Sums last;
          each_pair(r, s, [&](std::int64_t in, std::int64_t out) {
            last.add(x[in * p.in_channels + g * c + i], gradients + out * all);
          });
          write(last, g, first, tap + i);
        }
}

using gpu::ConvProblem;
using gpu::StreamHandle;

namespace number = ::dptrain::kernels::emu;

/// Converts an array to floats; float arrays are not copied.
class Floats {
 public:
  Floats(DType type, const void* from, std::int64_t n) {
    if (type == DType::kF32 || from == nullptr) {
      data_ = static_cast<const float*>(from);
      return;
    }
    own_.resize(static_cast<std::size_t>(n));
    number::dispatch(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < n; ++i)
        own_[static_cast<std::size_t>(i)] = number::to_float(static_cast<const T*>(from)[i]);
    });
    data_ = own_.data();
  }
  const float* data() const { return data_; }

 private:
  std::vector<float> own_;
  const float* data_ = nullptr;
};

/// Calls fill(floats[n]) and rounds the result to `to`.
template <class F>
void write(DType type, void* to, std::int64_t n, const F& fill) {
  std::vector<float> values(static_cast<std::size_t>(n));
  fill(values.data());
  number::dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < n; ++i)
      static_cast<T*>(to)[i] = number::from_float<T>(values[static_cast<std::size_t>(i)]);
  });
}

class EmuConvolution final : public gpu::Convolution {
 public:
  EmuConvolution(const ConvProblem& problem, const gpu::ConvPasses& passes) : problem_(problem), passes_(passes) {}

  /// A size that varies with the problem but is not proportional to its rows.
  std::uint64_t workspace() const override {
    return 256 + static_cast<std::uint64_t>(problem_.rows * problem_.out_channels % 97);
  }

  std::string name() const override {
    std::string text = "forward emu loops";
    if (passes_.data) text += "; data emu loops";
    if (passes_.weights) text += "; weights emu loops";
    return text;
  }

  void forward(const void* x, const void* filter, const void* bias, void* y, void* workspace,
               StreamHandle stream) override {
    need(passes_.forward, "forward", {x, filter, bias, y, workspace});
    queue("convolution forward", workspace, stream, [=, p = problem_] {
      const Floats in(p.type, x, inputs(p)), by(p.type, filter, p.weights()),
          add(p.type, p.bias ? bias : nullptr, p.out_channels);
      write(p.type, y, outputs(p), [&](float* to) { convolve(p, in.data(), by.data(), add.data(), to); });
    });
  }
  void backward_data(const void* dy, const void* filter, void* dx, void* workspace, StreamHandle stream) override {
    need(passes_.data, "data", {dy, filter, dx, workspace});
    queue("convolution data", workspace, stream, [=, p = problem_] {
      const Floats from(p.type, dy, outputs(p)), by(p.type, filter, p.weights());
      write(p.type, dx, inputs(p), [&](float* to) { convolve_data(p, from.data(), by.data(), to); });
    });
  }
  void backward_weights(const void* x, const void* dy, void* dfilter, void* workspace, StreamHandle stream) override {
    need(passes_.weights, "weights", {x, dy, dfilter, workspace});
    queue("convolution weights", workspace, stream, [=, p = problem_] {
      const Floats in(p.type, x, inputs(p)), from(p.type, dy, outputs(p));
      write(p.type, dfilter, p.weights(), [&](float* to) { convolve_weights(p, in.data(), from.data(), to); });
    });
  }

 private:
  static std::int64_t inputs(const ConvProblem& p) { return p.rows * p.in_h * p.in_w * p.in_channels; }
  static std::int64_t outputs(const ConvProblem& p) { return p.rows * p.out_h * p.out_w * p.out_channels; }

  /// Refuses addresses below the requested alignment, as cuDNN does.
  void need(bool made, const char* pass, std::initializer_list<const void*> addresses) const {
    if (!made) throw Error(ErrorKind::kInternal, fmt::format("the convolution was made without its pass '{}'", pass));
    for (const void* address : addresses)
      if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(problem_.alignment) != 0)
        throw Error(ErrorKind::kInternal,
                    fmt::format("the pass '{}' of a convolution needs addresses that are multiples of {} bytes", pass,
                                problem_.alignment));
  }

  template <class Work>
  void queue(const char* name, void* workspace, StreamHandle stream, Work work) const {
    static_cast<simt::Queue*>(stream)->push(name, [workspace, bytes = this->workspace(), work] {
      std::memset(workspace, 0xFF, bytes);
      work();
      std::memset(workspace, 0xFF, bytes);
    });
  }

  ConvProblem problem_;
  gpu::ConvPasses passes_;
};

}  // namespace

std::unique_ptr<gpu::Convolution> EmuConvolutionMaker::make(const ConvProblem& problem, const gpu::ConvPasses& passes) {
  return std::make_unique<EmuConvolution>(problem, passes);
}

}  // namespace dptrain::backend::emu
