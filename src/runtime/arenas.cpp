#include "runtime/arenas.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "nn/optimizer.h"
#include "plan/weight_order.h"
#include "runtime/replica.h"

namespace dptrain::runtime {
namespace {

std::size_t bytes_of(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

}  // namespace

ParameterArenas::ParameterArenas(const plan::Plan& plan, backend::Device& device, backend::Stream& stream,
                                 const ReplicaOptions& options)
    : plan_(plan), device_(device), stream_(stream) {
  const config::Typed& optimizer = options.optimizer;
  parameters_ = allocate(plan.total);
  update_buffers_.weights = floats(parameters_);
  if (plan.compute != DType::kF32) {
    compute_ = device_.allocate(static_cast<std::size_t>(plan.total) * size_of(plan.compute));
    update_buffers_.compute = compute_->data();
  }
  if (!optimizer) return;
  loss_scale_ = device_.allocate(sizeof(kernels::LossScale));
  update_buffers_.loss_scale = loss_scale_->as<kernels::LossScale>();
  push_loss_scale({});
  gradients_ = gradient_memory(options);
  if (options.accumulate || options.shards > 1) written_ = allocate(plan.statistics_end);
  update_buffers_.gradients = gradients();
  for (const nn::SlotDef& slot : nn::slots(optimizer)) {
    state_.push_back(allocate(plan.slot_floats()));
    if (slot.initial != 0) device.fill(floats(state_.back()), plan.slot_floats(), slot.initial, stream);
    update_buffers_.slots.push_back(floats(state_.back()));
  }
  make_tables(optimizer);
  if (!nn::common(optimizer).use_ema) return;
  state_.push_back(allocate(plan.trainable_end));
  update_buffers_.average = floats(state_.back());
}

void ParameterArenas::make_tables(const config::Typed& optimizer) {
  for (const plan::Parameter& p : plan_.parameters) {
    if (p.kind != plan::ParameterKind::kTable) continue;
    backend::RowTableContext context{
        .plan = plan_, .parameter = p, .optimizer = optimizer, .weights = floats(parameters_) + p.offset};
    for (float* slot : update_buffers_.slots) context.slots.push_back(slot + plan_.slot_offset(p));
    tables_.push_back(device_.make_row_table(context));
    update_buffers_.tables.push_back(tables_.back().get());
  }
}

std::vector<backend::RowTable*> ParameterArenas::tables() const {
  std::vector<backend::RowTable*> all;
  if (tables_.empty()) return all;
  auto next = tables_.begin();
  for (const plan::Parameter& p : plan_.parameters)
    all.push_back(p.kind == plan::ParameterKind::kTable ? (next++)->get() : nullptr);
  return all;
}

void ParameterArenas::clear_tables() {
  for (const auto& table : tables_) table->clear();
}

void ParameterArenas::share_tables(backend::Collective* collective) {
  for (const auto& table : tables_) table->share(*collective, stream_);
}

void ParameterArenas::catch_up() {
  for (const auto& table : tables_) table->catch_up();
}

std::vector<float> ParameterArenas::pull_gradients() {
  std::vector<float> values(static_cast<std::size_t>(plan_.tables_end()));
  device_.copy_to_host(values.data(), gradients(), bytes_of(plan_.statistics_end), stream_);
  auto next = tables_.begin();
  for (const plan::Parameter& p : plan_.parameters)
    if (p.kind == plan::ParameterKind::kTable) (*next++)->write_gradient(values.data() + p.offset);
  return values;
}

ParameterArenas::Buffer ParameterArenas::allocate(std::int64_t floats) {
  return device_.allocate(bytes_of(std::max<std::int64_t>(floats, 1)));
}

ParameterArenas::Buffer ParameterArenas::gradient_memory(const ReplicaOptions& options) {
  const std::int64_t floats = std::max<std::int64_t>(plan_.statistics_end, 1);
  return options.gradient_memory ? options.gradient_memory(bytes_of(floats)) : allocate(floats);
}

void ParameterArenas::push(const graph::Model& model) {
  catch_up();  // before new weights: pending updates also change the slots
  for (const plan::Parameter& p : plan_.parameters) {
    const graph::Weight& weight = model.weights[static_cast<std::size_t>(p.weight)];
    if (weight.values.empty())
      draw(p, weight, model.seed);
    else
      send(p, weight.values);
  }
  refresh_compute();
  ++pushes_;
  stream_.synchronize();
}

void ParameterArenas::update(backend::Update& update, const backend::UpdateArgs& args,
                             const kernels::StepState* state) {
  update.run(update_buffers_, args, state, stream_);
  ++updates_;
}

void ParameterArenas::replay(backend::Recording& recording) {
  recording.replay(stream_);
  ++updates_;
}

/// Initializes in place where the device reads host memory, so large weights need no second copy.
void ParameterArenas::draw(const plan::Parameter& p, const graph::Weight& weight, std::uint64_t seed) {
  const auto index = static_cast<std::uint32_t>(p.weight);
  if (device_.reads_host_memory() && p.order.empty())
    graph::initialize(weight.def, seed, index,
                      {floats(parameters_) + p.offset, static_cast<std::size_t>(p.elements())});
  else
    send(p, graph::initialize(weight.def, seed, index));
}

void ParameterArenas::send(const plan::Parameter& p, const std::vector<float>& values) {
  if (static_cast<std::int64_t>(values.size()) != p.elements())
    throw Error(ErrorKind::kInternal,
                fmt::format("{} has {} values, expected {}", p.path, values.size(), p.elements()));
  std::vector<float> ordered;
  if (!p.order.empty()) {
    ordered.resize(values.size());
    plan::to_arena_order(p, values.data(), ordered.data());
  }
  const std::vector<float>& sent = p.order.empty() ? values : ordered;
  device_.copy_to_device(floats(parameters_) + p.offset, sent.data(), bytes_of(p.elements()), stream_);
}

void ParameterArenas::refresh_compute() {
  if (compute_) device_.from_float(parameters(), compute_->data(), plan_.compute, plan_.total, stream_);
}

void ParameterArenas::pull(graph::Model& model) {
  catch_up();
  for (const plan::Parameter& p : plan_.parameters) {
    std::vector<float>& values = model.weights[static_cast<std::size_t>(p.weight)].values;
    values.resize(static_cast<std::size_t>(p.elements()));
    device_.copy_to_host(values.data(), parameters() + p.offset, bytes_of(p.elements()), stream_);
    if (p.order.empty()) continue;
    const std::vector<float> ordered = values;
    plan::to_keras_order(p, ordered.data(), values.data());
  }
  graph::draw(model);
}

/// Reorders the axes of every trainable parameter's block of a flat array, in place.
template <class Reorder>
void ParameterArenas::for_each_block(const Reorder& reorder, std::vector<float>& array) const {
  for (const plan::Parameter& p : plan_.parameters) {
    if (p.kind != plan::ParameterKind::kTrainable || p.order.empty()) continue;
    const auto block = array.begin() + p.offset;
    const std::vector<float> before(block, block + p.elements());
    reorder(p, before.data(), &*block);
  }
}

void ParameterArenas::check_state(const std::vector<std::vector<float>>& state) const {
  if (state.size() != state_.size())
    throw Error(ErrorKind::kInternal,
                fmt::format("optimizer state of {} arrays, expected {}", state.size(), state_.size()));
  for (const std::vector<float>& array : state)
    if (static_cast<std::int64_t>(array.size()) != plan_.slot_floats())
      throw Error(ErrorKind::kInternal,
                  fmt::format("optimizer state of {} floats, expected {}", array.size(), plan_.slot_floats()));
}

void ParameterArenas::push_state(const std::vector<std::vector<float>>& state) {
  check_state(state);
  catch_up();  // before new slots: pending updates also change the weights
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::vector<float> array = state[i];
    for_each_block(plan::to_arena_order, array);
    device_.copy_to_device(floats(state_[i]), array.data(), bytes_of(plan_.slot_floats()), stream_);
  }
  stream_.synchronize();
  for (const auto& table : tables_) table->restart();
}

std::vector<std::vector<float>> ParameterArenas::pull_state() {
  std::vector<std::vector<float>> state(state_.size(),
                                        std::vector<float>(static_cast<std::size_t>(plan_.slot_floats())));
  catch_up();
  for (std::size_t i = 0; i < state.size(); ++i) {
    device_.copy_to_host(state[i].data(), floats(state_[i]), bytes_of(plan_.slot_floats()), stream_);
    for_each_block(plan::to_keras_order, state[i]);
  }
  return state;
}

void ParameterArenas::push_loss_scale(const kernels::LossScale& scale) {
  skipped_ = scale.skipped;
  if (!loss_scale_) return;
  kernels::LossScale sent = scale;
  if (!scales_loss()) sent.scale = 1;
  device_.copy_to_device(loss_scale_->data(), &sent, sizeof(sent), stream_);
  stream_.synchronize();
}

std::uint64_t ParameterArenas::hash() {
  catch_up();
  return device_.hash(parameters(), plan_.total, stream_);
}

std::optional<kernels::LossScale> ParameterArenas::pull_loss_scale() {
  if (!loss_scale_) return std::nullopt;
  kernels::LossScale scale;
  device_.copy_to_host(&scale, loss_scale_->data(), sizeof(scale), stream_);
  return scale;
}

std::size_t ParameterArenas::bytes() const {
  std::size_t sum = parameters_->bytes();
  if (gradients_) sum += gradients_->bytes();
  for (const Buffer* buffer : {&written_, &compute_, &loss_scale_})
    if (*buffer) sum += (*buffer)->bytes();
  for (const Buffer& buffer : state_) sum += buffer->bytes();
  for (const auto& table : tables_) sum += table->bytes();
  return sum;
}

}  // namespace dptrain::runtime
