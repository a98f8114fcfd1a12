#include "runtime/device_batches.h"

#include <algorithm>

#include "core/error.h"
#include "core/index.h"
#include "core/trace.h"

namespace dptrain::runtime {
namespace {

/// Bytes of the labels of one row.
std::size_t label_bytes(const plan::Plan& plan, const plan::LossStep& loss) {
  const Shape& shape = plan.tensors[at(loss.prediction)].shape;
  if (loss.labels == nn::LabelKind::kDense) return static_cast<std::size_t>(shape.elements()) * sizeof(float);
  const std::int64_t classes = shape.rank() > 0 ? shape.back() : 1;
  return static_cast<std::size_t>(shape.elements() / classes) * sizeof(std::int32_t);
}

/// Whether the slot reads the graph input. Predictions are read in the primary slot.
bool reads(const plan::Plan& plan, int input, int slot) {
  const auto is_input = [&](int tensor) { return plan::root(plan, tensor) == input; };
  const auto step_reads = [&](const plan::Step& step) {
    return step.slot == slot && std::ranges::any_of(step.inputs, is_input);
  };
  const auto loss_reads = [&](const plan::LossStep& loss) {
    return loss.slot == slot && (is_input(loss.prediction) || (loss.has_mask_tensor() && is_input(loss.mask)));
  };
  if (plan.slot_count() == 1 || std::ranges::any_of(plan.steps, step_reads) ||
      std::ranges::any_of(plan.losses, loss_reads))
    return true;
  return slot == 0 && std::ranges::any_of(plan::predicted_tensors(plan), is_input);
}

void* data_of(const std::unique_ptr<backend::Buffer>& buffer) { return buffer ? buffer->data() : nullptr; }

}  // namespace

DeviceBatches::DeviceBatches(const plan::Plan& plan, backend::Device& device, std::int64_t rows, int sets, int slot)
    : plan_(plan), device_(device), rows_(rows) {
  if (device.reads_host_memory()) return;
  for (const int input : plan.inputs) reads_input_.push_back(reads(plan, input, slot));
  for (const plan::LossStep& loss : plan.losses) reads_labels_.push_back(loss.slot == slot);
  stream_ = device.make_stream();
  std::int64_t largest = 0;
  for (const int input : plan.inputs) largest = std::max(largest, plan.tensors[at(input)].elements(rows));
  if (plan.compute != DType::kF32) floats_ = device.allocate(static_cast<std::size_t>(largest) * sizeof(float));
  for (int i = 0; i < sets; ++i) {
    Set& set = sets_.emplace_back();
    for (std::size_t k = 0; k < plan.inputs.size(); ++k)
      set.inputs.push_back(reads_input_[k] ? device.allocate(plan.tensors[at(plan.inputs[k])].bytes(rows)) : nullptr);
    for (std::size_t k = 0; k < plan.losses.size(); ++k)
      set.labels.push_back(reads_labels_[k]
                               ? device.allocate(static_cast<std::size_t>(rows) * label_bytes(plan, plan.losses[k]))
                               : nullptr);
    if (std::ranges::count(reads_labels_, true) > 0)
      set.sample_weights = device.allocate(static_cast<std::size_t>(rows) * sizeof(float));
    set.arrived = device.make_event();
    set.released = device.make_event();
  }
}

void DeviceBatches::add_dataset(int number, const DeviceDataset& dataset) {
  if (!stream_) throw Error(ErrorKind::kInternal, device_.name() + " reads the host's memory and needs no data set");
  datasets_.try_emplace(number, plan_.compute, device_, *stream_, dataset, rows_, static_cast<int>(sets_.size()),
                        reads_input_);
}

void DeviceBatches::copy(const BatchView& slice, int s) {
  if (!stream_ || slice.rows == 0) return;
  const trace::Span span("copy", "batch to the device");
  Set& set = sets_[at(s)];
  set.released->hold(*stream_);
  if (slice.dataset >= 0) {
    std::vector<void*> inputs;
    for (const auto& input : set.inputs) inputs.push_back(data_of(input));
    datasets_.at(slice.dataset).make(slice, s, inputs);
  } else {
    copy_inputs(slice, set);
  }
  const auto send = [&](const backend::Buffer& to, const Column& from) {
    if (from)
      device_.copy_to_device(to.data(), from.data, static_cast<std::size_t>(slice.rows) * from.row_bytes, *stream_);
  };
  // A plan without losses has no label buffers, and prediction needs none.
  for (std::size_t i = 0; i < std::min(set.labels.size(), slice.labels.size()); ++i)
    if (set.labels[i]) send(*set.labels[i], slice.labels[i]);
  if (set.sample_weights) send(*set.sample_weights, slice.sample_weights);
  set.arrived->record(*stream_);
}

void DeviceBatches::copy_inputs(const BatchView& slice, Set& set) {
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    if (!set.inputs[i]) continue;
    const plan::Tensor& tensor = plan_.tensors[at(plan_.inputs[i])];
    const bool converts = tensor.type != plan::host_type(tensor);
    backend::Buffer& arrival = converts ? *floats_ : *set.inputs[i];
    device_.copy_to_device(arrival.data(), slice.inputs[i].data,
                           static_cast<std::size_t>(slice.rows) * plan::host_row_bytes(tensor), *stream_);
    if (converts)
      device_.from_float(floats_->as<float>(), set.inputs[i]->data(), tensor.type, tensor.elements(slice.rows),
                         *stream_);
  }
}

DeviceBatch DeviceBatches::arrive(const BatchView& slice, int s, backend::Stream& compute) {
  DeviceBatch batch;
  if (!stream_) {
    for (const Column& input : slice.inputs) batch.inputs.push_back(input.data);
    for (const Column& label : slice.labels) batch.labels.push_back(label.data);
    batch.sample_weights = slice.sample_weights.as<float>();
    return batch;
  }
  Set& set = sets_[at(s)];
  set.arrived->hold(compute);
  for (const auto& input : set.inputs) batch.inputs.push_back(data_of(input));
  for (const auto& label : set.labels) batch.labels.push_back(data_of(label));
  if (slice.sample_weights && set.sample_weights) batch.sample_weights = set.sample_weights->as<float>();
  return batch;
}

void DeviceBatches::release(int s, backend::Stream& compute) {
  if (stream_) sets_[at(s)].released->record(compute);
}

std::size_t DeviceBatches::bytes() const {
  std::size_t sum = floats_ ? floats_->bytes() : 0;
  for (const Set& set : sets_) {
    for (const auto* buffers : {&set.labels, &set.inputs})
      for (const auto& buffer : *buffers)
        if (buffer) sum += buffer->bytes();
    if (set.sample_weights) sum += set.sample_weights->bytes();
  }
  for (const auto& [number, dataset] : datasets_) sum += dataset.bytes();
  return sum;
}

}  // namespace dptrain::runtime
