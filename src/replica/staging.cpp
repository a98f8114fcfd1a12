#include "replica/staging.h"

#include <algorithm>

#include "core/error.h"
#include "core/index.h"

namespace dptrain::replica {
namespace {

std::size_t label_bytes(const plan::Plan& plan) {
  if (plan.loss.labels == optim::LabelKind::kClass) return sizeof(std::int32_t);
  return static_cast<std::size_t>(plan.tensors[at(plan.outputs.front())].shape.elements()) * sizeof(float);
}

}  // namespace

Staging::Staging(const plan::Plan& plan, device::Device& device, std::int64_t rows, int sets)
    : plan_(plan), device_(device), rows_(rows), label_bytes_(label_bytes(plan)) {
  if (device.reads_host_memory()) return;
  stream_ = device.make_stream();
  std::int64_t largest = 0;
  for (const int input : plan.inputs) largest = std::max(largest, plan.tensors[at(input)].elements(rows));
  if (plan.compute != DType::kF32) floats_ = device.allocate(static_cast<std::size_t>(largest) * sizeof(float));
  for (int i = 0; i < sets; ++i) {
    Set& set = sets_.emplace_back();
    for (const int input : plan.inputs) set.inputs.push_back(device.allocate(plan.tensors[at(input)].bytes(rows)));
    set.labels = device.allocate(static_cast<std::size_t>(rows) * label_bytes_);
    set.arrived = device.make_event();
    set.released = device.make_event();
  }
}

void Staging::add_feed(int number, const Feed& feed) {
  if (!stream_) throw Error(ErrorKind::kInternal, device_.name() + " reads the host's memory and needs no feed");
  feeds_.try_emplace(number, plan_.compute, device_, *stream_, feed, rows_, static_cast<int>(sets_.size()));
}

void Staging::copy(const Slice& slice, int s) {
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
  if (slice.labels != nullptr)
    device_.copy_to_device(set.labels->data(), slice.labels, static_cast<std::size_t>(slice.rows) * label_bytes_,
                           *stream_);
  set.arrived->record(*stream_);
}

void Staging::copy_inputs(const Slice& slice, Set& set) {
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    const std::int64_t floats = plan_.tensors[at(plan_.inputs[i])].elements(slice.rows);
    device::Buffer& arrival = floats_ ? *floats_ : *set.inputs[i];
    device_.copy_to_device(arrival.data(), slice.inputs[i], static_cast<std::size_t>(floats) * sizeof(float), *stream_);
    if (floats_) device_.from_float(floats_->as<float>(), set.inputs[i]->data(), plan_.compute, floats, *stream_);
  }
}

Staging::Place Staging::arrive(const Slice& slice, int s, device::Stream& compute) {
  if (!stream_) return {{slice.inputs.begin(), slice.inputs.end()}, slice.labels};
  Set& set = sets_[at(s)];
  set.arrived->hold(compute);
  Place place{.labels = set.labels->data()};
  for (const auto& input : set.inputs) place.inputs.push_back(input->data());
  return place;
}

void Staging::release(int s, device::Stream& compute) {
  if (stream_) sets_[at(s)].released->record(compute);
}

std::size_t Staging::bytes() const {
  std::size_t sum = floats_ ? floats_->bytes() : 0;
  for (const Set& set : sets_) {
    sum += set.labels->bytes();
    for (const auto& input : set.inputs) sum += input->bytes();
  }
  for (const auto& [number, feed] : feeds_) sum += feed.bytes();
  return sum;
}

}  // namespace dptrain::replica
