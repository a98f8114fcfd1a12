#pragma once

// BatchQueue: batches that are queued on the replicas and not yet collected, oldest first. It keeps each in memory
// until its sums are collected, because asynchronous devices still copy from it. While it is in use, nothing else
// queues work on its ReplicaSet. Used on the trainer's thread.

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

  static constexpr std::size_t kMaxBatches = Replica::kMaxQueued;

  explicit BatchQueue(ReplicaSet& replicas) : replicas_(replicas) {}

  /// Queue an optimizer step, or forward and loss in inference mode. Not while full().
  void step(SharedBatch batch, const StepInputs& in) {
    replicas_.queue_step(batch->view(), in);
    batches_.push_back(std::move(batch));
  }
  void evaluate(SharedBatch batch) {
    replicas_.queue_evaluation(batch->view());
    batches_.push_back(std::move(batch));
  }

  bool empty() const { return batches_.empty(); }
  std::size_t size() const { return batches_.size(); }
  bool full() const { return size() == kMaxBatches; }
  const data::Batch& oldest() const { return *batches_.front(); }
  const data::Batch& newest() const { return *batches_.back(); }

  /// Whether the oldest is done, or must be collected before more can be queued.
  bool is_due() const { return !empty() && (full() || replicas_.done()); }
  /// Waits for the sums of the oldest.
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
