#include "runtime/batch_queue.h"

#include <utility>

namespace dptrain::runtime {

void BatchQueue::step(SharedBatch batch, const StepInputs& in) {
  replicas_.queue_step(batch->host(), in);
  batches_.push_back(std::move(batch));
}

void BatchQueue::evaluate(SharedBatch batch) {
  replicas_.queue_evaluation(batch->host());
  batches_.push_back(std::move(batch));
}

BatchQueue::Collected BatchQueue::collect() {
  Collected collected{replicas_.collect(), std::move(batches_.front())};
  batches_.pop_front();
  return collected;
}

}  // namespace dptrain::runtime
