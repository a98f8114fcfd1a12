#pragma once

// Runs a sequence of layers on a device, forward and backward, from a plan without a replica. For ops with tensors of
// several types or with masks, which the harness of one op does not support.

#include <map>
#include <string>
#include <vector>

#include "backend/test_devices.h"
#include "core/index.h"
#include "plan/sample_models.h"

namespace dptrain::test {

/// Results of one forward and backward: floats by the tensor's name in the plan; gradients of weights by their path.
struct NetRun {
  std::map<std::string, std::vector<float>> tensors, gradients;
  std::map<std::string, std::vector<std::uint8_t>> masks;
};

class Net {
 public:
  /// The last step's output is the only output of the model.
  Net(backend::Device& device, const graph::Model& model, std::int64_t rows)
      : device_(device), model_(model), rows_(rows) {
    shuffle();
    device.enter();
    stream_ = device.make_stream();
    plan::PlanOptions options = options_for("mse", {}, nn::LabelKind::kDense);
    options.compute = device.options().compute;
    plan_ = plan::make_plan(model, options, plan::PlainCapabilities());
    for (const plan::Tensor& tensor : plan_.tensors) tensors_.push_back(garbage(tensor.bytes(rows)));
    for (const plan::Parameter& parameter : plan_.parameters) {
      const auto& values = model.weights[at(parameter.weight)].values;
      weights_.push_back(garbage(values.size() * sizeof(float)));
      gradients_.push_back(garbage(values.size() * sizeof(float)));
      device.copy_to_device(weights_.back()->data(), values.data(), values.size() * sizeof(float), *stream_);
      compute_.push_back(garbage(values.size() * size_of(plan_.compute)));
      device.from_float(weights_.back()->as<float>(), compute_.back()->data(), plan_.compute, parameter.elements(),
                        *stream_);
    }
  }

  /// `gradient`: of the output. Inputs have the types of their tensors on the host.
  template <class T>
  NetRun run(const std::vector<T>& input, const std::vector<float>& gradient) {
    write(plan_.inputs.front(), input.data());
    std::vector<std::unique_ptr<backend::Op>> ops;
    for (const plan::Step& step : plan_.steps) {
      ops.push_back(device_.make_op({.plan = plan_, .step = step, .rows = rows_}));
      ops.back()->prepare(rows_);
      saved_.push_back(garbage(ops.back()->need().saved));
      scratch_.push_back(garbage(ops.back()->need().scratch));
      first_pass_scratch_.push_back(garbage(ops.back()->need().first_pass_scratch));
      packed_.push_back(garbage(ops.back()->need().packed));
      call(saved_.size() - 1, [&](const backend::OpArgs& args) {
        if (ops.back()->need().packed > 0) ops.back()->pack(args);
        ops.back()->forward(args);
      });
    }
    write(plan_.losses.front().prediction_gradient, gradient.data());
    for (const plan::BackwardItem& item : plan_.backward)
      if (item.kind == plan::BackwardItem::Kind::kStep)
        call(at(item.step), [&](const backend::OpArgs& args) { ops[at(item.step)]->backward(args); });
    return read();
  }

 private:
  using Memory = std::unique_ptr<backend::Buffer>;

  /// All bits set: NaN as a float.
  Memory garbage(std::size_t bytes) {
    Memory memory = device_.allocate(std::max<std::size_t>(bytes, 1));
    const std::vector<std::uint8_t> ones(memory->bytes(), 0xFF);
    device_.copy_to_device(memory->data(), ones.data(), ones.size(), *stream_);
    return memory;
  }

  void write(int tensor, const void* values) {
    const plan::Tensor& to = plan_.tensors[at(tensor)];
    if (to.type == plan::host_type(to))
      return device_.copy_to_device(tensors_[at(tensor)]->data(), values, to.bytes(rows_), *stream_);
    const Memory floats = garbage(static_cast<std::size_t>(to.elements(rows_)) * sizeof(float));
    device_.copy_to_device(floats->data(), values, floats->bytes(), *stream_);
    device_.from_float(floats->as<float>(), tensors_[at(tensor)]->data(), to.type, to.elements(rows_), *stream_);
    stream_->synchronize();
  }

  void* memory(int tensor) const {
    return tensor == plan::kAbsent ? nullptr : tensors_[at(plan::root(plan_, tensor))]->data();
  }

  template <class F>
  void call(std::size_t s, const F& f) {
    const plan::Step& step = plan_.steps[s];
    std::vector<const void*> inputs, compute;
    std::vector<void*> outputs, output_gradients, input_gradients;
    std::vector<const float*> weights;
    std::vector<float*> weight_gradients;
    for (const int input : step.inputs) inputs.push_back(memory(input));
    for (const int output : step.outputs) outputs.push_back(memory(output));
    for (const int gradient : step.output_gradients) output_gradients.push_back(memory(gradient));
    for (const int gradient : step.input_gradients) input_gradients.push_back(memory(gradient));
    for (const int p : step.parameters) {
      weights.push_back(weights_[at(p)]->as<float>());
      compute.push_back(compute_[at(p)]->data());
      weight_gradients.push_back(gradients_[at(p)]->as<float>());
    }
    f({.rows = rows_,
       .training = true,
       .inputs = inputs,
       .outputs = outputs,
       .output_gradients = output_gradients,
       .input_gradients = input_gradients,
       .weights = weights,
       .compute_weights = compute,
       .weight_gradients = weight_gradients,
       .packed = packed_[s]->data(),
       .saved = saved_[s]->data(),
       .scratch = scratch_[s]->data(),
       .first_pass_scratch = first_pass_scratch_[s]->data(),
       .stream = stream_.get()});
    stream_->synchronize();
  }

  std::vector<float> floats(const void* from, DType type, std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    if (n == 0) return values;
    const Memory wide = garbage(values.size() * sizeof(float));
    device_.to_float(from, type, wide->as<float>(), n, *stream_);
    device_.copy_to_host(values.data(), wide->data(), wide->bytes(), *stream_);
    return values;
  }

  NetRun read() {
    NetRun found;
    for (int t = 0; t < static_cast<int>(plan_.tensors.size()); ++t) {
      const plan::Tensor& tensor = plan_.tensors[at(t)];
      if (tensor.is_float()) found.tensors[tensor.name] = floats(memory(t), tensor.type, tensor.elements(rows_));
      if (tensor.type != DType::kU8) continue;
      auto& mask = found.masks[tensor.name];
      mask.resize(tensor.bytes(rows_));
      device_.copy_to_host(mask.data(), memory(t), mask.size(), *stream_);
    }
    for (std::size_t p = 0; p < plan_.parameters.size(); ++p)
      found.gradients[plan_.parameters[p].path] =
          floats(gradients_[p]->data(), DType::kF32, plan_.parameters[p].elements());
    return found;
  }

  backend::Device& device_;
  const graph::Model& model_;
  const std::int64_t rows_;
  std::unique_ptr<backend::Stream> stream_;
  plan::Plan plan_;
  std::vector<Memory> tensors_, weights_, compute_, gradients_;
  std::vector<Memory> saved_, scratch_, first_pass_scratch_, packed_;  // per step
};

/// Devices in every type that they compute in, with a tolerance for numbers of about one.
template <class F>
void on_devices_in_all_types(const F& f) {
  for (const auto& [type, tolerance] : {std::pair{DType::kF32, 2e-6}, {DType::kBf16, 2e-2}, {DType::kF16, 3e-3}}) {
    backend::RuntimeOptions options;
    options.compute = type;
    for (const auto& device : devices(options)) {
      SCOPED_TRACE(device->description() + " " + std::string(name_of(type)));
      f(*device, tolerance);
    }
  }
}

}  // namespace dptrain::test
