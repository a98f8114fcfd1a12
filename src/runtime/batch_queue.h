#pragma once

// BatchQueue: the batches that are queued on the replicas and not collected, oldest first. Each stays in memory until
// the sums of its step or evaluation have come back, for devices that run behind the host still copy from it. Who
// trains, evaluates and measures works through one of these; it is the only one that queues on its ReplicaSet
// meanwhile. Trainer's thread only.

#include <deque>
#include <memory>
#include <utility>

#include "data/loader.h"
#include "runtime/replica_set.h"

namespace dptrain::runtime {

class BatchQueue {
 public:
  using SharedBatch = std::shared_ptr<const data::Batch>;
  struct Collected {
    StepSums sums;
    SharedBatch batch;
  };

  explicit BatchQueue(ReplicaSet& replicas) : replicas_(replicas) {}

  /// One optimizer step, or forward and loss in inference mode, behind what is queued. Not while full().
  void step(SharedBatch batch, const StepInputs& in) {
    replicas_.queue_step(batch->host(), in);
    batches_.push_back(std::move(batch));
  }
  void evaluate(SharedBatch batch) {
    replicas_.queue_evaluation(batch->host());
    batches_.push_back(std::move(batch));
  }

  bool empty() const { return batches_.empty(); }
  std::size_t size() const { return batches_.size(); }
  bool full() const { return size() == Replica::kMostQueued; }
  const data::Batch& oldest() const { return *batches_.front(); }
  const data::Batch& newest() const { return *batches_.back(); }

  /// The oldest is done, or has to be waited for before anything else can be queued.
  bool is_due() const { return !empty() && (full() || replicas_.done()); }
  /// The oldest's sums; waits for them.
  Collected collect() {
    Collected collected{replicas_.collect(), std::move(batches_.front())};
    batches_.pop_front();
    return collected;
  }

 private:
  ReplicaSet& replicas_;
  std::deque<SharedBatch> batches_;
};

}  // namespace dptrain::runtime
