#include "replica/staging.h"

#include <algorithm>

#include "core/error.h"
#include "core/index.h"

namespace dptrain::replica {
namespace {

/// Of one row.
std::size_t label_bytes(const plan::Plan& plan, const plan::LossStep& loss) {
  const Shape& shape = plan.tensors[at(loss.prediction)].shape;
  if (loss.labels == optim::LabelKind::kDense) return static_cast<std::size_t>(shape.elements()) * sizeof(float);
  const std::int64_t classes = shape.rank() > 0 ? shape.back() : 1;
  return static_cast<std::size_t>(shape.elements() / classes) * sizeof(std::int32_t);
}

}  // namespace

Staging::Staging(const plan::Plan& plan, device::Device& device, std::int64_t rows, int sets)
    : plan_(plan), device_(device), rows_(rows) {
  if (device.reads_host_memory()) return;
  stream_ = device.make_stream();
  std::int64_t largest = 0;
  for (const int input : plan.inputs) largest = std::max(largest, plan.tensors[at(input)].elements(rows));
  if (plan.compute != DType::kF32) floats_ = device.allocate(static_cast<std::size_t>(largest) * sizeof(float));
  for (int i = 0; i < sets; ++i) {
    Set& set = sets_.emplace_back();
    for (const int input : plan.inputs) set.inputs.push_back(device.allocate(plan.tensors[at(input)].bytes(rows)));
    for (const plan::LossStep& loss : plan.losses)
      set.labels.push_back(device.allocate(static_cast<std::size_t>(rows) * label_bytes(plan, loss)));
    if (plan.has_loss()) set.sample_weights = device.allocate(static_cast<std::size_t>(rows) * sizeof(float));
    set.arrived = device.make_event();
    set.released = device.make_event();
  }
}

void Staging::add_feed(int number, const Feed& feed) {
  if (!stream_) throw Error(ErrorKind::kInternal, device_.name() + " reads the host's memory and needs no feed");
  feeds_.try_emplace(number, plan_.compute, device_, *stream_, feed, rows_, static_cast<int>(sets_.size()));
}

void Staging::copy(const BatchRows& slice, int s) {
  if (!stream_ || slice.rows == 0) return;
  Set& set = sets_[at(s)];
  set.released->hold(*stream_);
  if (slice.feed >= 0) {
    std::vector<void*> inputs;
    for (const auto& input : set.inputs) inputs.push_back(input->data());
    feeds_.at(slice.feed).make(slice, s, inputs);
  } else {
    copy_inputs(slice, set);
  }
  const auto send = [&](const device::Buffer& to, const Column& from) {
    if (from)
      device_.copy_to_device(to.data(), from.data, static_cast<std::size_t>(slice.rows) * from.row_bytes, *stream_);
  };
  // A plan without losses has no room for labels, and predicting needs none.
  for (std::size_t i = 0; i < std::min(set.labels.size(), slice.labels.size()); ++i)
    send(*set.labels[i], slice.labels[i]);
  if (set.sample_weights) send(*set.sample_weights, slice.sample_weights);
  set.arrived->record(*stream_);
}

void Staging::copy_inputs(const BatchRows& slice, Set& set) {
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    const plan::Tensor& tensor = plan_.tensors[at(plan_.inputs[i])];
    const bool converts = tensor.type != plan::host_type(tensor);
    device::Buffer& arrival = converts ? *floats_ : *set.inputs[i];
    device_.copy_to_device(arrival.data(), slice.inputs[i].data,
                           static_cast<std::size_t>(slice.rows) * plan::host_row_bytes(tensor), *stream_);
    if (converts)
      device_.from_float(floats_->as<float>(), set.inputs[i]->data(), tensor.type, tensor.elements(slice.rows),
                         *stream_);
  }
}

Staging::Place Staging::arrive(const BatchRows& slice, int s, device::Stream& compute) {
  Place place;
  if (!stream_) {
    for (const Column& input : slice.inputs) place.inputs.push_back(input.data);
    for (const Column& label : slice.labels) place.labels.push_back(label.data);
    place.sample_weights = slice.sample_weights.as<float>();
    return place;
  }
  Set& set = sets_[at(s)];
  set.arrived->hold(compute);
  for (const auto& input : set.inputs) place.inputs.push_back(input->data());
  for (const auto& label : set.labels) place.labels.push_back(label->data());
  if (slice.sample_weights) place.sample_weights = set.sample_weights->as<float>();
  return place;
}

void Staging::release(int s, device::Stream& compute) {
  if (stream_) sets_[at(s)].released->record(compute);
}

std::size_t Staging::bytes() const {
  std::size_t sum = floats_ ? floats_->bytes() : 0;
  for (const Set& set : sets_) {
    for (const auto& label : set.labels) sum += label->bytes();
    if (set.sample_weights) sum += set.sample_weights->bytes();
    for (const auto& input : set.inputs) sum += input->bytes();
  }
  for (const auto& [number, feed] : feeds_) sum += feed.bytes();
  return sum;
}

}  // namespace dptrain::replica
