#include "runtime/step_buffers.h"

#include "core/index.h"
#include "core/trace.h"
#include "runtime/shard_sums.h"

namespace dptrain::runtime {

StepBuffers::StepBuffers(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, int shards,
                         const kernels::LossScale* loss_scale)
    : plan_(plan),
      device_(device),
      stream_(stream),
      shards_(shards),
      loss_scale_(loss_scale),
      state_(device.allocate(sizeof(kernels::StepState))),
      sums_(device.allocate(at(shards) * sums_per_shard() * sizeof(double))) {
  for (std::size_t host_index = 0; host_index < Replica::kHostBuffers; ++host_index)
    host_buffers_.push_back({.state = device.allocate_host(sizeof(kernels::StepState)),
                             .sums = device.allocate_host(sums_->bytes()),
                             .loss_scale = device.allocate_host(sizeof(kernels::LossScale)),
                             .fetched = device.make_event()});
}

void StepBuffers::send_state(std::size_t host_index) {
  device_.copy_to_device(state_->data(), host_buffers_[host_index].state->data(), sizeof(kernels::StepState), stream_);
}

void StepBuffers::clear_sums() {
  // A double of zero is two floats of zero.
  device_.fill(sums_->as<float>(), static_cast<std::int64_t>(sums_->bytes() / sizeof(float)), 0, stream_);
}

void StepBuffers::fetch_sums(std::size_t host_index) {
  device_.queue_to_host(host_buffers_[host_index].sums->data(), sums_->data(), sums_->bytes(), stream_);
  if (loss_scale_ != nullptr)
    device_.queue_to_host(host_buffers_[host_index].loss_scale->data(), loss_scale_, sizeof(*loss_scale_), stream_);
}

StepSums StepBuffers::read_sums(std::size_t host_index) {
  {
    const trace::Span span("wait", "waiting for the device");
    stream_.wait_for(*host_buffers_[host_index].fetched);
  }
  std::vector<StepSums> shards;
  for (int shard = 0; shard < shards_; ++shard) {
    const double* const sums = host_buffers_[host_index].sums->as<double>() + at(shard) * sums_per_shard();
    shards.push_back({.outputs = {sums, sums + plan_.sums()}, .penalty = sums[plan_.sums()]});
    for (const plan::LossStep& loss : plan_.losses)
      shards.back().loss += loss.weight * shards.back().outputs[loss.first_sum];
  }
  return sum_steps(shards);
}

}  // namespace dptrain::runtime
