#include "backend/emu/emu_convolution.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "backend/emu/conv_loops.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/simt.h"

namespace dptrain::backend::emu {
namespace {

using gpu::ConvProblem;
using gpu::StreamHandle;

namespace number = ::dptrain::kernels::emu;

/// Numbers of a type, as floats; those that are floats already are read where they lie.
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

/// Calls fill(floats[n]) and rounds what it has written to `to`.
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

  /// Something that changes with the problem, and not in step with its rows.
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

  /// As cuDNN, which takes no addresses that are less aligned than it was told.
  void need(bool made, const char* pass, std::initializer_list<const void*> addresses) const {
    if (!made)
      throw Error(ErrorKind::kInternal, fmt::format("a convolution made without its pass '{}' was asked for it", pass));
    for (const void* address : addresses)
      if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(problem_.alignment) != 0)
        throw Error(ErrorKind::kInternal,
                    fmt::format("a convolution's pass '{}' was given an address that is no multiple of {} bytes", pass,
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
