#pragma once

// Op conformance: one description of a case, judged on every device present (test_devices.h). A test gives a naive
// forward in double; the harness derives the gradients by central differences of sum(r * y) with a fixed random r, runs
// the op on buffers that are poisoned with NaN and framed by guards, with fewer rows than it was made for, twice (same
// bits, though the emulator runs in another order), in inference, with input or weight gradients not wanted, and
// compares. In backward it finds NaN where the layer says that it does not read.
//
// Devices with 16-bit types are judged in these, too, as ||found - expected|| / ||expected||, on data rounded to the
// type: outputs by the reference, gradients by those that the CPU computes in float.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/test_devices.h"
#include "nn/activations.h"
#include "nn/layer.h"

namespace dptrain::test {

/// Row-major values in double; dims with the batch first for activations.
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

/// Keras's formulas in double, element by element (those over rows: x).
double activation(nn::Activation f, double x);

/// Values known to tests that have to draw the same random numbers.
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

  /// Computed behind the layer by its op (plan::Step::tail). The reference knows of all but a last activation; other
  /// inputs of these layers, one each at most, are the last of `inputs`.
  std::vector<config::Typed> tail = {};
  bool undone = false;        ///< the tail's last, a ReLU, by who reads the output
  config::Typed undoes = {};  ///< an activation below (plan::Step::undoes): inputs are drawn before it
  bool some_devices = false;  ///< judged on devices that fuse the tail, one at least; else all must
  bool inference_mode = false;

  backend::RuntimeOptions options = {};  ///< `compute` is set from `types`
  double low = -1, high = 1.07;  ///< of the inputs, which have no ties; not symmetric, so that sums are not zero
  double tolerance = 2e-6;       ///< of the largest value of the tensor: some roundings of float
  double gradient_tolerance = 5e-6;
  double roundings = 1;                     ///< to 16 bits, one behind the other: times norm_tolerance()
  std::vector<std::size_t> cancelled = {};  ///< weights whose gradients are sums that cancel: small beside the others
  bool differentiable = true;
  bool prepares_rows = true;  ///< Op::prepare(rows) is called
  /// Sums of oneDNN over the batch are cut by the number of threads; everything of our own is not.
  bool same_bits_on_all_threads = true;
  std::vector<DType> types = {DType::kF32, DType::kBf16, DType::kF16};

  Reference inference = {};  ///< where inference differs from training
  /// Batch values of the statistics, before share, in the order of the weights.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> statistics = {};
  /// Changes weights after they are drawn (variances must be positive).
  std::function<void(std::vector<Tensor>&)> weights = {};
  /// The same for inputs, whose values are floats. Inputs of one size are drawn from the same values.
  std::function<void(std::vector<Tensor>&)> values = {};
};

/// All checks of a case.
void agrees(const Case& c, const Reference& reference);

/// Output of one forward in inference with these inputs and weights; for values from elsewhere.
std::vector<float> infer(backend::Device& device, const Case& c, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& weights);

/// Output, gradients of the inputs, gradients of the weights of one forward and backward on the case's own data.
std::vector<std::vector<float>> train(backend::Device& device, const Case& c);

/// What the op says about itself, made for c.rows.
std::string implementation(backend::Device& device, const Case& c);

/// |found - expected| <= tolerance * max |expected| for every element.
void expect_close(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                  const std::string& what);

/// ||found - expected|| <= tolerance * ||expected||, Euclidean; for numbers rounded to 16 bits.
void expect_near_in_norm(const std::vector<float>& found, const std::vector<double>& expected, double tolerance,
                         const std::string& what);
/// That tolerance: results are rounded once or twice, to 8 bits or to 11.
constexpr double norm_tolerance(DType type) { return type == DType::kBf16 ? 1e-2 : 2e-3; }

/// What a GPU may differ by in float: the functions of its mathematical library are good to a few roundings.
inline double on_device(const backend::Device& device, double tolerance) {
  return device.kind() == backend::DeviceKind::kCpu ? tolerance : std::max(tolerance, 1e-5);
}

template <class Spec>
config::Typed layer(Spec spec) {
  return nn::layer_family().make(std::move(spec));
}

/// A tail of that activation; empty for linear.
inline std::vector<config::Typed> tail_of(nn::Activation f) {
  if (f == nn::Activation::kLinear) return {};
  return {layer(nn::ActivationSpec{f})};
}

}  // namespace dptrain::test
