#pragma once

// One layer's op on a device, with a plan of one step, as the harness runs it. Weights and their gradients are in
// Keras's order, independent of the device.

#include <string>
#include <vector>

#include "backend/harness.h"
#include "plan/tail.h"

namespace dptrain::test {

struct Data {
  std::vector<Tensor> inputs, weights;
  Tensor output_gradient;
};

/// The case's data, the same on every call.
Data make_data(const Case& c);
Data rounded(DType type, Data data);

/// Results of one forward and backward.
struct Outcome {
  std::vector<float> output;
  std::vector<std::vector<float>> input_gradients, weight_gradients;  ///< empty if unwanted; statistics included
};

enum class Wanted { kAll, kInputs, kWeights, kFirstInput };

/// A hand-written plan of one step.
struct OneStep {
  plan::Plan plan;
  std::vector<nn::WeightDef> weights;
  bool fused = true;  ///< the device's op computes the whole tail and undoes the case's activation

  OneStep(const Case& c, Wanted wanted, const backend::Device& device);
  const plan::Step& step() const { return plan.steps[0]; }
  /// Number of inputs of the layer without those of the tail.
  std::size_t own() const { return plan::own_inputs(step()); }
  Shape output() const { return plan.tensors[static_cast<std::size_t>(step().output())].shape; }
  backend::OpContext context(std::int64_t rows) const {
    return {.plan = plan, .step = step(), .rows = rows, .seed = kSeed, .stream_id = kStreamId, .replicas = 1};
  }

 private:
  void add_tail(const Case& c, plan::Step& step, const backend::Device& device);
  int tensor(const std::string& name, const Shape& shape);
};

/// Weights of the layer.
std::vector<nn::WeightDef> weights_of(const Case& c);

/// `values` after the activation that the case undoes, if any.
std::vector<double> above_undone(const Case& c, std::vector<double> values);

/// Runs the op once, in new NaN-filled memory, in the device's type.
Outcome run(backend::Device& device, const Case& c, const Data& data, bool training, Wanted wanted);

}  // namespace dptrain::test
