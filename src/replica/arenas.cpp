#include "replica/arenas.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::replica {
namespace {

std::size_t bytes_of(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

}  // namespace

ParameterArenas::ParameterArenas(const plan::Plan& plan, device::Device& device, device::Stream& stream,
                                 const config::Typed& optimizer, bool accumulate)
    : plan_(plan), device_(device), stream_(stream) {
  parameters_ = allocate(plan.total);
  update_buffers_.weights = parameters();
  if (!optimizer) return;
  gradients_ = allocate(plan.statistics_end);
  if (accumulate) written_ = allocate(plan.statistics_end);
  update_buffers_.gradients = gradients();
  for (const optim::SlotDef& slot : optim::slots(optimizer)) {
    state_.push_back(allocate(plan.trainable_end));
    if (slot.initial != 0) device.fill(floats(state_.back()), plan.trainable_end, slot.initial, stream);
    update_buffers_.slots.push_back(floats(state_.back()));
  }
  if (!optim::common(optimizer).use_ema) return;
  state_.push_back(allocate(plan.trainable_end));
  update_buffers_.average = floats(state_.back());
}

ParameterArenas::Buffer ParameterArenas::allocate(std::int64_t floats) {
  return device_.allocate(bytes_of(std::max<std::int64_t>(floats, 1)));
}

void ParameterArenas::push(const graph::Model& model) {
  for (const plan::Parameter& p : plan_.parameters) {
    const std::vector<float>& values = model.weights[static_cast<std::size_t>(p.weight)].values;
    if (static_cast<std::int64_t>(values.size()) != p.elements())
      throw Error(ErrorKind::kInternal,
                  fmt::format("{} has {} values, expected {}", p.path, values.size(), p.elements()));
    device_.copy_to_device(parameters() + p.offset, values.data(), bytes_of(p.elements()), stream_);
  }
  stream_.synchronize();  // the model may change as soon as this returns
}

void ParameterArenas::pull(graph::Model& model) {
  for (const plan::Parameter& p : plan_.parameters) {
    std::vector<float>& values = model.weights[static_cast<std::size_t>(p.weight)].values;
    values.resize(static_cast<std::size_t>(p.elements()));
    device_.copy_to_host(values.data(), parameters() + p.offset, bytes_of(p.elements()), stream_);
  }
}

void ParameterArenas::check_state(const std::vector<std::vector<float>>& state) const {
  if (state.size() != state_.size())
    throw Error(ErrorKind::kInternal,
                fmt::format("optimizer state of {} arrays, expected {}", state.size(), state_.size()));
  for (const std::vector<float>& array : state)
    if (static_cast<std::int64_t>(array.size()) != plan_.trainable_end)
      throw Error(ErrorKind::kInternal,
                  fmt::format("optimizer state of {} floats, expected {}", array.size(), plan_.trainable_end));
}

void ParameterArenas::push_state(const std::vector<std::vector<float>>& state) {
  check_state(state);
  for (std::size_t i = 0; i < state.size(); ++i)
    device_.copy_to_device(floats(state_[i]), state[i].data(), bytes_of(plan_.trainable_end), stream_);
  stream_.synchronize();
}

std::vector<std::vector<float>> ParameterArenas::pull_state() {
  std::vector<std::vector<float>> state(state_.size(),
                                        std::vector<float>(static_cast<std::size_t>(plan_.trainable_end)));
  for (std::size_t i = 0; i < state.size(); ++i)
    device_.copy_to_host(state[i].data(), floats(state_[i]), bytes_of(plan_.trainable_end), stream_);
  return state;
}

std::size_t ParameterArenas::bytes() const {
  std::size_t sum = parameters_->bytes();
  if (gradients_) sum += gradients_->bytes();
  if (written_) sum += written_->bytes();
  for (const Buffer& buffer : state_) sum += buffer->bytes();
  return sum;
}

}  // namespace dptrain::replica
