#include "runtime/step_runner.h"

#include <algorithm>
#include <new>

#include "backend/measured_loss.h"
#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/trace.h"

namespace dptrain::runtime {
namespace {

using plan::BackwardItem;

void grow(plan::Need& need, const plan::Need& more) {
  need.saved = std::max(need.saved, more.saved);
  need.scratch = std::max(need.scratch, more.scratch);
  need.packed = std::max(need.packed, more.packed);
  need.first_pass_scratch = std::max(need.first_pass_scratch, more.first_pass_scratch);
}

/// Whether no update changes a weight of the step.
bool is_frozen(const plan::Plan& plan, const plan::Step& step) {
  return std::ranges::all_of(step.parameters, [&](int parameter) {
    return plan.parameters[at(parameter)].kind == plan::ParameterKind::kFrozen;
  });
}

}  // namespace

StepRunner::StepRunner(const plan::Plan& plan, backend::Device& device, backend::Stream& stream,
                       backend::Collective* collective, const ParameterArenas& arenas, const ReplicaOptions& options,
                       SlotContext context)
    : plan_(plan),
      device_(device),
      stream_(stream),
      collective_(collective),
      arenas_(arenas),
      slot_(context.slot),
      sync_(context.sync),
      rows_(options.rows),
      gradients_(arenas.written()),
      summed_gradients_(arenas.gradients()),
      mask_steps_(plan::mask_steps(plan)),
      predicted_(plan::predicted_tensors(plan)),
      loss_scale_(arenas.loss_scale()),
      scales_loss_(arenas.scales_loss()),
      writer_(plan.tensors.size(), plan::kAbsent),
      lifetimes_(plan, device, stream, context.slot),
      batches_(plan, device, options.rows, plan.has_loss() ? Replica::kSets : 1, context.slot),
      heartbeat_(options.heartbeat),
      profiler_(plan, device, stream, ops_, needs_, options.rows) {
  if (slot_ != 0) {
    mirror_.emplace(plan, device, arenas, slot_);
    loss_scale_ = mirror_->loss_scale();
  }
  make_ops(options);
  plan_memory(arenas, options.shards);
  for (const plan::LossStep& loss : plan.losses)
    label_masks_.push_back(loss.ignore_class && is_in_this_slot(loss)
                               ? device.allocate(static_cast<std::size_t>(rows_ * loss.masked_positions))
                               : nullptr);
  masked_ = training_ && std::ranges::any_of(plan.losses, &plan::LossStep::averages_valid);
  if (masked_ && slot_ == 0) counts_.emplace(plan, device, stream, collective);
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    for (const int tensor : plan.steps[s].parameter_gradient_tensors)
      if (tensor != plan::kAbsent) writer_[at(tensor)] = static_cast<int>(s);
}

void StepRunner::make_ops(const ReplicaOptions& options) {
  for (const plan::Step& step : plan_.steps) {
    if (step.slot != slot_ || step.copies) {
      ops_.push_back(nullptr);
      continue;
    }
    if (heartbeat_ != nullptr) heartbeat_->beat("making layer", &step.name);
    // A random layer is keyed by its place in the graph, which does not depend on what a device can fuse.
    ops_.push_back(device_.make_op({.plan = plan_,
                                    .step = step,
                                    .rows = rows_ * step.frames,
                                    .seed = options.seed,
                                    .stream_id = static_cast<std::uint32_t>(step.node),
                                    .replicas = options.replicas}));
  }
  for (const plan::LossStep& loss : plan_.losses) {
    if (!is_in_this_slot(loss)) {
      losses_.push_back(nullptr);
      continue;
    }
    losses_.push_back(backend::measured_loss({.plan = plan_, .loss = loss, .rows = rows_}, device_));
    grow(loss_need_, losses_.back()->need());
  }
  for (const auto& op : ops_) needs_.push_back(op ? op->need() : plan::Need{});
  if (options.fuse_passes) fused_passes_ = backend::fused_passes(plan_, ops_);
  for (const std::int64_t rows : options.row_counts)
    if (rows > 0) prepare(rows);
}

void StepRunner::prepare(std::int64_t rows) {
  // prepare() all before the first need(): devices make the primitives of several ops at once.
  for (std::size_t s = 0; s < ops_.size(); ++s)
    if (ops_[s]) ops_[s]->prepare(rows * plan_.steps[s].frames);
  for (std::size_t s = 0; s < ops_.size(); ++s) {
    if (!ops_[s]) continue;
    if (heartbeat_ != nullptr) heartbeat_->beat("choosing the engines of layer", &plan_.steps[s].name);
    grow(needs_[s], ops_[s]->need());
  }
}

void StepRunner::plan_memory(const ParameterArenas& arenas, int shards) {
  const bool trains = arenas.gradients() != nullptr;
  inference_memory_ = plan::plan_memory(plan_, needs_, loss_need_, rows_, plan::Mode::kInference, slot_,
                                        fused_passes_.defers_last_pass);
  std::uint64_t bytes = inference_memory_.arena_bytes;
  if (trains) {
    training_memory_ = plan::plan_memory(plan_, needs_, loss_need_, rows_, plan::Mode::kTraining, slot_,
                                         fused_passes_.defers_last_pass);
    bytes = std::max(bytes, training_memory_.arena_bytes);
  }
  tensors_ = device_.allocate(std::max<std::size_t>(bytes, 1));
  const auto check = [&](plan::Mode mode, const plan::MemoryPlan& memory) {
    lifetimes_.add(mode, memory, needs_, loss_need_, fused_passes_.defers_last_pass, tensors_->as<std::byte>());
  };
  check(plan::Mode::kInference, inference_memory_);
  if (trains) check(plan::Mode::kTraining, training_memory_);
  buffers_.emplace(plan_, device_, stream_, shards, loss_scale_);
  if (plan_.compute != DType::kF32) {
    std::int64_t largest = 1;
    for (const int output : plan_.outputs) largest = std::max(largest, plan_.tensors[at(output)].elements(rows_));
    output_floats_ = device_.allocate(static_cast<std::size_t>(largest) * sizeof(float));
  }
  for (std::size_t s = 0; s < needs_.size(); ++s)
    if (needs_[s].packed > 0) packed_.push_back({.step = s, .frozen = is_frozen(plan_, plan_.steps[s]), .version = {}});
  if (inference_memory_.packed_bytes > 0) packed_memory_ = device_.allocate(inference_memory_.packed_bytes);
  Arenas memory{.tensors = tensors_->as<std::byte>(),
                .packed = packed_memory_ ? packed_memory_->as<std::byte>() : nullptr,
                .parameters = mirror_ ? mirror_->parameters() : arenas.parameters(),
                .offsets = mirror_ ? mirror_->offsets() : std::vector<std::int64_t>(),
                .compute = mirror_ ? mirror_->compute() : arenas.compute(),
                .tables = arenas.tables()};
  inference_.emplace(plan_, inference_memory_, memory, slot_);
  memory.gradients = gradients_;
  if (trains) training_.emplace(plan_, training_memory_, memory, slot_);
  if (sync_ == nullptr) return;
  sync_->attach(slot_, device_);
  sync_->publish_sums(slot_, buffers_->sums());
  publish(*inference_, false);
  if (trains) publish(*training_, true);
}

void StepRunner::stage(const BatchView& slice, int set) {
  if (slice.rows == 0) return;
  if (slice.rows > rows_)
    throw Error(ErrorKind::kInternal,
                fmt::format("a slice of {} rows, but the replica was made for at most {}", slice.rows, rows_));
  if (heartbeat_ != nullptr) heartbeat_->beat("copying a batch to the device");
  batches_.copy(slice, set);
}

void StepRunner::bind(const BatchView& slice, int set, plan::Mode mode) {
  Bindings& bindings = mode == plan::Mode::kTraining ? *training_ : *inference_;
  if (sync_ != nullptr) sync_->barrier(slot_, stream_);
  lifetimes_.begin(mode, slice.rows);
  if (mirror_) mirror_->refresh(stream_);
  sums_pending_ = false;
  pack(bindings);
  if (slice.rows == 0) return;
  batch_ = batches_.arrive(slice, set, stream_);
  bindings.bind_inputs(batch_.inputs);
  for (std::size_t i = 0; i < label_masks_.size(); ++i)
    if (label_masks_[i] && batch_.labels.size() > i) mask_labels(i, slice.rows);
}

/// Makes the mask of loss number `i` from the labels of the bound batch.
void StepRunner::mask_labels(std::size_t i, std::int64_t rows) {
  const plan::LossStep& loss = plan_.losses[i];
  const std::int64_t positions = rows * loss.masked_positions;
  auto* const mask = label_masks_[i]->as<std::uint8_t>();
  if (loss.labels == nn::LabelKind::kClass)
    return device_.mask_labels(static_cast<const std::int32_t*>(batch_.labels[i]), positions, *loss.ignore_class, mask,
                               stream_);
  const std::int64_t width = plan_.tensors[at(loss.prediction)].shape.elements() / loss.masked_positions;
  device_.mask_labels(static_cast<const float*>(batch_.labels[i]), positions, width, mask, stream_);
}

const std::uint8_t* StepRunner::mask_of(std::size_t loss, const Bindings& bindings) const {
  if (label_masks_[loss]) return label_masks_[loss]->as<std::uint8_t>();
  const plan::LossStep& step = plan_.losses[loss];
  return step.has_mask_tensor() ? static_cast<const std::uint8_t*>(bindings.tensor(step.mask)) : nullptr;
}

void StepRunner::pack(const Bindings& bindings) {
  for (Packed& packed : packed_) {
    const std::uint64_t now = packed.frozen ? arenas_.frozen_version() : arenas_.version();
    if (packed.version == now) continue;
    const BoundStep& bound = bindings.step(packed.step);
    lifetimes_.set_packing(packed.step, true);
    call_op(packed.step, "packing the weights of layer", [&] {
      profiler_.time_packing(packed.step, [&] {
        ops_[packed.step]->pack({.weights = bound.weights,
                                 .compute_weights = bound.compute_weights,
                                 .packed = bound.packed,
                                 .scratch = bindings.scratch(),
                                 .stream = &stream_});
      });
    });
    lifetimes_.set_packing(packed.step, false);
    packed.version = now;
  }
}

template <class Call>
void StepRunner::run_op(std::size_t step, std::int64_t rows, bool backward, const Call& call) {
  call_op(step, backward ? "backward of layer" : "forward of layer", [&] {
    if (observer_) return call(), observer_(step, backward);
    profiler_.time_step(step, rows, backward, call);
  });
}

template <class Call>
void StepRunner::call_op(std::size_t step, const char* what, const Call& call) {
  const std::string& name = plan_.steps[step].name;
  if (heartbeat_ != nullptr) heartbeat_->beat(what, &name);
  const trace::Span span(device_.reads_host_memory() ? "layer" : "launch", what, &name);
  try {
    call();
  } catch (const Error& error) {
    throw error.within("layer " + name);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, "layer " + name + ": out of memory");
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kInternal, "layer " + name + ": " + error.what());
  }
}

backend::OpArgs StepRunner::args(std::size_t s, const BatchView& slice, const StepInputs& in, const Bindings& bindings,
                                 bool training) {
  const plan::Step& step = plan_.steps[s];
  const BoundStep& bound = bindings.step(s);
  const double valid = static_cast<double>(std::max<std::int64_t>(in.global_samples, 1));
  return {.rows = slice.rows * step.frames,
          .first_row = slice.first_row * step.frames,
          .step = in.number,
          .share = static_cast<double>(slice.rows) / valid * step.statistics_weight,
          .training = training && !step.inference_mode,
          .inputs = bound.inputs,
          .outputs = bound.outputs,
          .output_gradients = bound.output_gradients,
          .input_gradients = bound.input_gradients,
          .weights = bound.weights,
          .compute_weights = bound.compute_weights,
          .weight_gradients = bound.weight_gradients,
          .tables = bound.tables,
          .packed = bound.packed,
          .saved = bound.saved,
          .scratch = bindings.scratch(),
          .first_pass_scratch = bindings.first_pass_scratch(),
          .state = buffers_->state(),
          .stream = &stream_,
          .collective = collective_};
}

void StepRunner::run_forward(const BatchView& slice, const StepInputs& in, const Bindings& bindings, bool training,
                             bool with_loss) {
  for (std::size_t s = 0; s < ops_.size(); ++s) {
    if (with_loss && plan_.steps[s].fused_into_loss) continue;
    run_forward_step(s, slice, in, bindings, training);
  }
}

void StepRunner::run_forward_step(std::size_t s, const BatchView& slice, const StepInputs& in, const Bindings& bindings,
                                  bool training) {
  const plan::Step& step = plan_.steps[s];
  if (step.slot != slot_) return;
  lifetimes_.before(lifetimes_.forward(s));
  if (step.copies)
    run_copy(s, slice, bindings, training);
  else if (slice.rows > 0 || (training && ops_[s]->runs_empty()))
    run_op(s, slice.rows, false, [&] {
      backend::OpArgs call = args(s, slice, in, bindings, training);
      add_fused_passes(call, s, slice, in, bindings, training);
      ops_[s]->forward(call);
    });
  if (sync_ != nullptr && !step.copies) signal_forward(s, training);
  lifetimes_.after(lifetimes_.forward(s));
}

/// Adds the valid positions of the slice to the counts. Its forward has written the masks.
void StepRunner::count_valid(const BatchView& slice) {
  for (std::size_t i = 0; counts_ && i < plan_.losses.size() && slice.rows > 0; ++i)
    if (plan_.losses[i].averages_valid()) counts_->add(i, mask_of(i, *training_), slice.rows);
}

void StepRunner::count_ahead(const std::vector<BatchView>& micro_batches, const StepInputs& in,
                             const std::function<int()>& next_set) {
  counted_ahead_ = masked_ && micro_batches.size() > 1;
  if (!counted_ahead_) return;
  if (counts_) counts_->clear();
  for (const BatchView& slice : micro_batches) {
    const int set = next_set();
    stage(slice, set);
    begin(slice, set);
    fusing_ = false;  // count_ahead() runs only some of the steps
    for (const int s : mask_steps_) run_forward_step(at(s), slice, in, *training_, true);
    fusing_ = true;
    count_valid(slice);
    release(set);
  }
  if (counts_) counts_->share(in.global_samples);
}

void StepRunner::run_losses(const BatchView& slice, const StepInputs& in, const Bindings& bindings, bool training) {
  if (heartbeat_ != nullptr) heartbeat_->beat("the loss");
  const trace::Span span("layer", "losses and metrics");
  lifetimes_.before(lifetimes_.losses());
  for (std::size_t i = 0; i < losses_.size() && slice.rows > 0; ++i) {
    if (!losses_[i]) continue;
    const plan::LossStep& loss = plan_.losses[i];
    const auto* const mask = mask_of(i, bindings);
    if (loss.masked())
      device_.count_valid(mask, slice.rows * loss.masked_positions, buffers_->sums_of(loss) + loss.valid_sum(),
                          stream_);
    const backend::LossArgs args{
        .rows = slice.rows,
        .prediction = bindings.tensor(loss.prediction),
        .labels = batch_.labels[i],
        .sample_weights = batch_.sample_weights,
        .gradient = training ? bindings.tensor(loss.prediction_gradient) : nullptr,
        .gradient_scale = training ? loss.weight / static_cast<double>(in.global_samples) : 1.0,
        .mask = mask,
        .mask_scale = training && loss.averages_valid() ? counts_->scale(i) : nullptr,
        .loss_scale = training && scales_loss_ ? loss_scale_ : nullptr,
        .weighted = training,
        .sums = buffers_->sums_of(loss),
        .scratch = bindings.scratch(),
        .stream = &stream_};
    profiler_.time_loss(loss, slice.rows, [&] { losses_[i]->run(args); });
  }
  if (sync_ != nullptr) signal_losses(training);
}

void StepRunner::begin(const BatchView& slice, int set) {
  if (!training_ || losses_.empty())
    throw Error(ErrorKind::kInternal, "a replica without loss or optimizer cannot train");
  bind(slice, set, plan::Mode::kTraining);
}

void StepRunner::forward(const BatchView& slice, const StepInputs& in) {
  const trace::Span span("pass", "forward");
  if (slice.rows == 0 && slot_ == 0) device_.fill(gradients_, plan_.statistics_end, 0, stream_);
  run_forward(slice, in, *training_, true, true);
  if (counts_ && !counted_ahead_) {
    counts_->clear();
    count_valid(slice);
    counts_->share(in.global_samples);
  }
  run_losses(slice, in, *training_, true);
}

void StepRunner::backward(const BatchView& slice, const StepInputs& in,
                          const std::function<void(const BackwardItem&)>& after_item) {
  const trace::Span span("pass", "backward");
  lifetimes_.after(lifetimes_.losses());
  for (std::size_t i = 0; i < plan_.backward.size(); ++i) {
    lifetimes_.before(lifetimes_.backward(i));
    run_item(plan_.backward[i], slice, in);
    lifetimes_.after(lifetimes_.backward(i));
    after_item(plan_.backward[i]);
  }
}

void StepRunner::run_item(const BackwardItem& item, const BatchView& slice, const StepInputs& in) {
  if (sync_ != nullptr && plan::slot_of(plan_, item) != slot_) return;
  const bool empty = slice.rows == 0;
  switch (item.kind) {
    case BackwardItem::Kind::kStep: {
      const std::size_t s = at(item.step);
      if (!empty || ops_[s]->runs_empty())
        run_op(s, slice.rows, true, [&] { ops_[s]->backward(args(s, slice, in, *training_, true)); });
      if (sync_ != nullptr) signal_backward(s);
      return;
    }
    case BackwardItem::Kind::kAccumulateTensor: {
      const trace::Span span("sum", "adding gradients of a tensor");
      const std::int64_t n = plan_.tensors[at(item.source)].elements(slice.rows);
      if (!empty)
        profiler_.time_sum(n, size_of(plan_.compute), [&] {
          device_.accumulate(training_->tensor(item.destination), training_->tensor(item.source), plan_.compute, n,
                             stream_);
        });
      return;
    }
    case BackwardItem::Kind::kAccumulateParameter: {
      const trace::Span span("sum", "adding gradients of a weight");
      const plan::Parameter& parameter = plan_.parameters[at(item.destination)];
      if (!empty || runs_empty(writer_[at(item.source)]))
        profiler_.time_sum(parameter.elements(), sizeof(float), [&] {
          device_.accumulate(gradients_ + parameter.offset, training_->tensor(item.source), DType::kF32,
                             parameter.elements(), stream_);
        });
      return;
    }
    case BackwardItem::Kind::kFetchTensor:
      return fetch(item.source, training_->tensor(item.destination), slice.rows, true);
    case BackwardItem::Kind::kFetchParameter:
      return fetch(item.source, gradients_ + plan_.parameters[at(item.destination)].offset, slice.rows, true);
  }
}

void StepRunner::set_observer(std::function<void(std::size_t step, bool backward)> observer) {
  observer_ = std::move(observer);
}

void StepRunner::evaluate(const BatchView& slice, int set) {
  if (losses_.empty()) throw Error(ErrorKind::kInternal, "a plan without a loss cannot evaluate");
  stage(slice, set);
  bind(slice, set, plan::Mode::kInference);
  run_forward(slice, {}, *inference_, false, true);
  run_losses(slice, {}, *inference_, false);
  release(set);
}

void StepRunner::predict(const BatchView& slice, const std::vector<void*>& outputs) {
  if (slice.rows == 0) return;
  stage(slice, 0);
  bind(slice, 0, plan::Mode::kInference);
  run_forward(slice, {}, *inference_, false, false);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (plan_.tensors[at(plan::root(plan_, predicted_[i]))].slot == slot_)
      copy_output(plan_.tensors[at(predicted_[i])], inference_->tensor(predicted_[i]), slice.rows, outputs[i]);
  release(0);  // after the copies, because an output may be an input
}

void StepRunner::copy_output(const plan::Tensor& tensor, const void* values, std::int64_t rows, void* to) {
  if (tensor.type == DType::kF32 || !tensor.is_float())
    return device_.copy_to_host(to, values, tensor.bytes(rows), stream_);
  const std::int64_t n = tensor.elements(rows);
  device_.to_float(values, tensor.type, output_floats_->as<float>(), n, stream_);
  device_.copy_to_host(to, output_floats_->data(), static_cast<std::size_t>(n) * sizeof(float), stream_);
}

void StepRunner::penalty(backend::Update& update, const float* weights) {
  update.penalty(weights, buffers_->penalty(), stream_);
}

void StepRunner::mark_gradients_not_finite() {
  if (plan_.statistics_end == 0) return;
  gather_sums();
  for (int shard = 0; shard < buffers_->shards(); ++shard)
    for (const plan::LossStep& loss : plan_.losses)
      device_.mark_not_finite(buffers_->sums_of(loss, shard), summed_gradients_, stream_);
}

std::vector<std::string> StepRunner::implementations() const {
  std::vector<std::string> all;
  for (const auto& op : ops_) all.push_back(op ? op->implementation() : "");
  return all;
}

std::size_t StepRunner::bytes() const {
  std::size_t sum = tensors_->bytes() + buffers_->bytes() + batches_.bytes();
  for (const auto* buffer : {&packed_memory_, &output_floats_})
    if (*buffer) sum += (*buffer)->bytes();
  for (const auto& mask : label_masks_)
    if (mask) sum += mask->bytes();
  return sum + (counts_ ? counts_->bytes() : 0) + (mirror_ ? mirror_->bytes() : 0);
}

}  // namespace dptrain::runtime
