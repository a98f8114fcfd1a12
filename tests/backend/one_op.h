#pragma once

// One layer's op on a device, with a plan of one step: what the harness runs. Weights and their gradients are in
// Keras's order here, whatever the device wants.

#include <string>
#include <vector>

#include "backend/harness.h"
#include "plan/tail.h"

namespace dptrain::test {

struct Data {
  std::vector<Tensor> inputs, weights;
  Tensor output_gradient;
};

/// The case's own: the same on every call.
Data make_data(const Case& c);
Data rounded(DType type, Data data);

/// What one forward and backward left.
struct Outcome {
  std::vector<float> output;
  std::vector<std::vector<float>> input_gradients, weight_gradients;  ///< empty where not wanted; statistics included
};

enum class Wanted { kAll, kInputs, kWeights, kFirstInput };

/// A plan of one step, by hand.
struct OneStep {
  plan::Plan plan;
  std::vector<nn::WeightDef> weights;
  bool fused = true;  ///< the device says that the op computes all of the case's tail, and undoes what it shall undo

  OneStep(const Case& c, Wanted wanted, const backend::Device& device);
  const plan::Step& step() const { return plan.steps[0]; }
  /// Inputs of the layer, without those of the tail.
  std::size_t own() const { return plan::own_inputs(step()); }
  Shape output() const { return plan.tensors[static_cast<std::size_t>(step().output())].shape; }
  backend::OpContext context(std::int64_t rows) const {
    return {.plan = plan, .step = step(), .rows = rows, .seed = kSeed, .stream_id = kStreamId, .replicas = 1};
  }

 private:
  void add_tail(const Case& c, plan::Step& step, const backend::Device& device);
  int tensor(const std::string& name, const Shape& shape);
};

/// Of the layer.
std::vector<nn::WeightDef> weights_of(const Case& c);

/// What the activation that the case undoes makes of `values`; they themselves where it undoes none.
std::vector<double> above_undone(const Case& c, std::vector<double> values);

/// Runs the op once, everything freshly made and poisoned, in the type that the device was made for.
Outcome run(backend::Device& device, const Case& c, const Data& data, bool training, Wanted wanted);

}  // namespace dptrain::test
