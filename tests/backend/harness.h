#pragma once

// Op conformance: one description of a case, checked on every available device (test_devices.h). A test provides a
// naive forward in double; the harness derives the gradients by central differences of sum(r * y) with a fixed random
// r. The op runs on buffers filled with NaN and framed by guards, with fewer rows than the maximum. It runs twice (same
// bits, although the emulator uses another order), in inference, and without input or weight gradients. In backward,
// tensors that the layer declares unread are filled with NaN. In 16-bit types, devices are compared by ||found -
// expected|| / ||expected|| on rounded data: outputs with the reference, gradients with the CPU's in float.
//
// Under AddressSanitizer and ThreadSanitizer, all gradients are compared with the CPU's. Under ThreadSanitizer, the op
// runs once, in the first of the case's types.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/test_devices.h"
#include "nn/activations.h"
#include "nn/layer.h"

namespace dptrain::test {

/// Row-major values in double. Activations have the batch as first dimension.
struct Tensor {
  std::vector<std::int64_t> dims;
  std::vector<double> values;

  Tensor() = default;
  explicit Tensor(std::vector<std::int64_t> extents, double value = 0);

  std::int64_t dim(std::size_t i) const { return dims[i]; }
  /// Element by index, one per axis.
  template <class... I>
  double& operator()(I... indices) {
    return values[offset({static_cast<std::int64_t>(indices)...})];
  }
  template <class... I>
  double operator()(I... indices) const {
    return values[offset({static_cast<std::int64_t>(indices)...})];
  }

 private:
  std::size_t offset(std::initializer_list<std::int64_t> indices) const;
};

/// [rows, sample...].
Tensor batch(std::int64_t rows, const Shape& sample);

/// Keras's formulas in double, per element (softmax and others over rows: x).
double activation(nn::Activation f, double x);

/// Seeds for tests that draw the same random numbers.
inline constexpr std::uint64_t kSeed = 0x1234567890ABCDEFU;
inline constexpr std::uint32_t kStreamId = 7;
inline constexpr std::int64_t kStep = 11, kFirstRow = 5;
inline constexpr double kShare = 0.375;

/// inputs, weights -> output.
using Reference = std::function<Tensor(const std::vector<Tensor>&, const std::vector<Tensor>&)>;

struct Case {
  config::Typed layer;
  std::vector<Shape> inputs;
  std::int64_t rows = 3;

  /// Layers after this one that its op computes (plan::Step::tail). The reference includes all but a last activation.
  /// Each may have one other input, appended to `inputs`.
  std::vector<config::Typed> tail = {};
  bool undone = false;        ///< the reader of the output undoes the tail's last layer, a ReLU
  config::Typed undoes = {};  ///< an activation below (plan::Step::undoes): inputs are drawn before it
  bool some_devices = false;  ///< checked on devices that fuse the tail, at least one; else all must
  bool inference_mode = false;

  backend::RuntimeOptions options = {};  ///< `compute` is set from `types`
  double low = -1, high = 1.07;  ///< of the inputs, which have no ties; not symmetric, so that sums are not zero
  double tolerance = 2e-6;       ///< relative to the largest value of the tensor: some roundings of float
  double gradient_tolerance = 5e-6;
  double roundings = 1;                     ///< successive roundings to 16 bits: times norm_tolerance()
  std::vector<std::size_t> cancelled = {};  ///< weights whose gradients cancel to much less than others
  bool differentiable = true;
  bool prepares_rows = true;  ///< Op::prepare(rows) is called
  /// False if oneDNN splits sums over the batch by the number of threads; our own kernels do not.
  bool same_bits_on_all_threads = true;
  std::vector<DType> types = {DType::kF32, DType::kBf16, DType::kF16};

  Reference inference = {};  ///< if inference differs from training
  /// Batch values of the statistics, before share, in the order of the weights.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> statistics = {};
  /// Changes drawn weights (variances must be positive).
  std::function<void(std::vector<Tensor>&)> weights = {};
  /// Changes drawn inputs, whose values are floats. Inputs of one size have equal draws.
  std::function<void(std::vector<Tensor>&)> values = {};
};

/// Runs all checks of a case.
void agrees(const Case& c, const Reference& reference);

/// Output of one forward in inference with these inputs and weights, for external reference values.
std::vector<float> infer(backend::Device& device, const Case& c, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& weights);

/// Output, gradients of the inputs, gradients of the weights of one forward and backward on the case's own data.
std::vector<std::vector<float>> train(backend::Device& device, const Case& c);

/// The op's description of its implementation for c.rows.
std::string implementation(backend::Device& device, const Case& c);

/// |found - expected| <= tolerance * max |expected| for every element.
void expect_close(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                  const std::string& what);

/// ||found - expected|| <= tolerance * ||expected||, Euclidean; for numbers rounded to 16 bits.
void expect_near_in_norm(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                         const std::string& what);
/// Results are rounded once or twice, to 8 bits or to 11.
constexpr double norm_tolerance(DType type) { return type == DType::kBf16 ? 1e-2 : 2e-3; }

/// Tolerance on a GPU in float, whose mathematical functions have errors of a few roundings.
inline double on_device(const backend::Device& device, double tolerance) {
  return device.kind() == backend::DeviceKind::kCpu ? tolerance : std::max(tolerance, 1e-5);
}

template <class Spec>
config::Typed layer(Spec spec) {
  return nn::layer_family().make(std::move(spec));
}

/// A tail with that activation; empty for linear.
inline std::vector<config::Typed> tail_of(nn::Activation f) {
  if (f == nn::Activation::kLinear) return {};
  return {layer(nn::ActivationSpec{f})};
}

}  // namespace dptrain::test
