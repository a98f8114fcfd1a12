// Several replicas per GPU, in addition to local_streams.cpp. The leader of each GPU uses NCCL. Its thread signals the
// other replicas when it has queued the NCCL work (and, in a step that may load kernels, waited for it). Their streams
// wait for its event, and they signal the leader when they have queued their copies. The leader's stream waits for
// their events before it overwrites the memory. Each side records its event again only after the other side has
// signalled that its stream waits for the last record.

#include "distributed/nccl_connector.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/index.h"
#include "distributed/connector.h"
#include "distributed/event_counts.h"

namespace dptrain::distributed {
namespace {

struct GpuGroup {
  std::vector<int> local_ranks;  ///< the leader first
  std::unique_ptr<runtime::Connector> local;
  float* sums = nullptr;                        ///< the leader's gradient arena
  std::unique_ptr<backend::Buffer> gathered;    ///< all replicas' inputs of a gather, GPU by GPU; owned by the leader
  std::unique_ptr<backend::Event> leader_done;  ///< recorded after the leader's work of a step or gather
  std::vector<backend::Event*> copied_marks;    ///< per number: recorded after the replica's copies
  EventCounts::Counter arrived = 0, attached = 0;  ///< replicas that have called attach(); 1 if the leader is attached
  EventCounts::Counter exchanged = 0, copied = 0;  ///< steps and gathers queued by the leader, and by the others

  int size() const { return static_cast<int>(local_ranks.size()); }
};

/// State shared by all local ranks.
struct GpuGroups {
  EventCounts counts;
  std::deque<GpuGroup> groups;              ///< one for each GPU
  std::vector<std::pair<int, int>> places;  ///< per local rank: its group and its number in the group
  int widest = 0;                           ///< largest number of replicas on a GPU
  std::unique_ptr<runtime::Connector> leaders;
};

/// One replica's sink and collective; its thread calls both, in one order.
class SharedGpuRank final : public runtime::GradientSink, public backend::Collective {
 public:
  SharedGpuRank(GpuGroups& shared, int local_rank)
      : shared_(shared),
        local_rank_(local_rank),
        gpu_(shared.places[at(local_rank)].first),
        number_(shared.places[at(local_rank)].second),
        group_(shared.groups[at(gpu_)]) {}

  void attach(backend::Device& device, backend::Stream& compute, float* gradients, const plan::Plan& plan) {
    device_ = &device;
    gradients_ = gradients;
    buckets_ = plan.buckets;
    copied_ = device.make_event();
    group_.local->attach(number_, device, compute, gradients, plan);
    group_.copied_marks[at(number_)] = copied_.get();
    shared_.counts.signal(group_.arrived);
    if (is_leader()) {
      // No replica of the GPU may load kernels while NCCL connects, so the others wait, too.
      wait(group_.arrived, at(group_.size()));
      group_.sums = gradients;
      group_.leader_done = device.make_event();
      shared_.leaders->attach(gpu_, device, compute, gradients, plan);
      shared_.counts.signal(group_.attached);
    }
    wait(group_.attached, 1);
  }

  void drain() noexcept {
    if (is_leader()) shared_.leaders->drain(gpu_);
    group_.local->drain(number_);
  }
  void detach() noexcept {
    if (is_leader()) {
      shared_.leaders->detach(gpu_);
      group_.leader_done.reset();
      group_.gathered.reset();
    }
    group_.local->detach(number_);
    own_.reset();
    outgrown_.clear();
    copied_.reset();
  }

  bool waits() const {
    return waits_.load(std::memory_order_relaxed) || group_.local->waits(number_) ||
           (is_leader() && shared_.leaders->waits(gpu_));
  }

  void begin(std::int64_t step, bool may_load_kernels) override {
    local_sink().begin(step, may_load_kernels);
    if (is_leader()) leader_sink().begin(step, may_load_kernels);
  }
  void bucket_ready(int bucket, backend::Stream& compute) override { local_sink().bucket_ready(bucket, compute); }

  void finish(backend::Stream& compute) override {
    local_sink().finish(compute);
    run_on_leader(compute, [&] {
      for (int bucket = 0; bucket < static_cast<int>(buckets_.size()); ++bucket)
        leader_sink().bucket_ready(bucket, compute);
      leader_sink().finish(compute);
    });
    if (!is_leader() && !buckets_.empty()) {
      const std::int64_t first = buckets_.front().begin, last = buckets_.back().end;
      device_->copy(gradients_ + first, group_.sums + first, static_cast<std::size_t>(last - first) * sizeof(float),
                    compute);
    }
    wait_for_members(compute);
  }

  void end(bool idle) override {
    local_sink().end(idle);
    if (is_leader()) leader_sink().end(idle);
  }

  int rank() const override { return local_rank_; }
  int size() const override { return static_cast<int>(shared_.places.size()); }

  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream& stream) override {
    const std::int64_t block = bytes * shared_.widest;
    grow_buffer(own_, block);
    group_.local->collective(number_)->all_gather(mine, bytes, own_->data(), stream);
    run_on_leader(stream, [&] {
      grow_buffer(group_.gathered, block * static_cast<std::int64_t>(shared_.groups.size()));
      shared_.leaders->collective(gpu_)->all_gather(own_->data(), block, group_.gathered->data(), stream);
    });
    for (int local_rank = 0; local_rank < size(); ++local_rank) {
      const auto [gpu, number] = shared_.places[at(local_rank)];
      device_->copy(static_cast<std::byte*>(all) + local_rank * bytes,
                    group_.gathered->as<std::byte>() + gpu * block + number * bytes, static_cast<std::size_t>(bytes),
                    stream);
    }
    wait_for_members(stream);
  }

 private:
  bool is_leader() const { return number_ == 0; }
  runtime::GradientSink& local_sink() { return group_.local->sink(number_); }
  runtime::GradientSink& leader_sink() { return shared_.leaders->sink(gpu_); }

  void wait(const EventCounts::Counter& counter, std::uint64_t target) {
    waits_.store(true, std::memory_order_relaxed);
    shared_.counts.wait(counter, target);
    waits_.store(false, std::memory_order_relaxed);
  }

  /// Runs `work` on the leader's thread. Later work on the stream of each replica waits for the work queued by `work`.
  template <class Work>
  void run_on_leader(backend::Stream& stream, const Work& work) {
    ++rounds_;
    if (is_leader()) {
      work();
      group_.leader_done->record(stream);
      shared_.counts.signal(group_.exchanged);
    } else {
      wait(group_.exchanged, rounds_);
      group_.leader_done->hold(stream);
    }
  }

  /// Makes the leader's stream wait until all other replicas of the GPU have copied.
  void wait_for_members(backend::Stream& stream) {
    const std::uint64_t others = at(group_.size() - 1);
    if (!is_leader()) {
      copied_->record(stream);
      shared_.counts.signal(group_.copied);
      return;
    }
    wait(group_.copied, rounds_ * others);
    for (int other = 1; other < group_.size(); ++other) group_.copied_marks[at(other)]->hold(stream);
  }

  /// A buffer that is too small is replaced but kept, because queued copies may use it.
  void grow_buffer(std::unique_ptr<backend::Buffer>& buffer, std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    if (buffer && buffer->bytes() >= size) return;
    if (buffer) outgrown_.push_back(std::move(buffer));
    buffer = device_->allocate(size);
  }

  GpuGroups& shared_;
  const int local_rank_, gpu_, number_;
  GpuGroup& group_;
  backend::Device* device_ = nullptr;
  float* gradients_ = nullptr;
  std::vector<plan::Bucket> buckets_;
  std::unique_ptr<backend::Buffer> own_;  ///< inputs of a gather from the replicas of this GPU
  std::vector<std::unique_ptr<backend::Buffer>> outgrown_;
  std::unique_ptr<backend::Event> copied_;
  std::uint64_t rounds_ = 0;  ///< number of steps and gathers
  std::atomic<bool> waits_ = false;
};

class SharedConnector final : public runtime::Connector {
 public:
  SharedConnector(const std::vector<int>& gpus, const NcclOptions& options, const nccl::Api& api) {
    std::map<int, int> numbers;  // GPU -> number of its group
    std::vector<int> leaders;
    for (int local_rank = 0; local_rank < static_cast<int>(gpus.size()); ++local_rank) {
      const auto [found, added] = numbers.try_emplace(gpus[at(local_rank)], static_cast<int>(leaders.size()));
      if (added) {
        leaders.push_back(gpus[at(local_rank)]);
        shared_.groups.emplace_back();
      }
      GpuGroup& group = shared_.groups[at(found->second)];
      shared_.places.emplace_back(found->second, group.size());
      group.local_ranks.push_back(local_rank);
      shared_.widest = std::max(shared_.widest, group.size());
    }
    for (GpuGroup& group : shared_.groups) {
      group.local = make_local_streams(group.size());
      group.copied_marks.resize(group.local_ranks.size());
    }
    shared_.leaders = make_nccl(leaders, options, api);
    for (int local_rank = 0; local_rank < static_cast<int>(gpus.size()); ++local_rank)
      local_ranks_.emplace_back(shared_, local_rank);
  }

  runtime::GradientSink& sink(int local_rank) override { return local_ranks_[at(local_rank)]; }
  backend::Collective* collective(int local_rank) override { return &local_ranks_[at(local_rank)]; }
  void attach(int local_rank, backend::Device& device, backend::Stream& compute, float* gradients,
              const plan::Plan& plan) override {
    local_ranks_[at(local_rank)].attach(device, compute, gradients, plan);
  }
  void drain(int local_rank) noexcept override { local_ranks_[at(local_rank)].drain(); }
  void detach(int local_rank) noexcept override { local_ranks_[at(local_rank)].detach(); }
  bool waits(int local_rank) const noexcept override { return local_ranks_[at(local_rank)].waits(); }

  void abort(const Error& why) noexcept override {
    shared_.counts.abort(why.what());
    for (GpuGroup& group : shared_.groups) group.local->abort(why);
    shared_.leaders->abort(why);
  }

 private:
  GpuGroups shared_;
  std::deque<SharedGpuRank> local_ranks_;
};

}  // namespace

std::unique_ptr<runtime::Connector> make_shared_gpus(const std::vector<int>& gpus, const NcclOptions& options,
                                                     const nccl::Api& api) {
  if (options.tree_order)
    throw Error(ErrorKind::kInternal, "replicas that share GPUs cannot be added in the order of the tree");
  return std::make_unique<SharedConnector>(gpus, options, api);
}

}  // namespace dptrain::distributed
