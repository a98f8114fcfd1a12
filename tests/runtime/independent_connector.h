#pragma once

// A connector of independent replicas, without communication.

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/replica_set.h"

namespace dptrain::test {

class IndependentConnector final : public runtime::Connector {
 public:
  runtime::GradientSink& sink(int) override { return none_; }
  backend::Collective* collective(int) override { return nullptr; }
  void attach(int local_rank, backend::Device&, backend::Stream&, float*, const plan::Plan&) override {
    const std::lock_guard lock(mutex_);
    attached.insert(local_rank);
  }
  void abort(const Error& why) noexcept override {
    const std::lock_guard lock(mutex_);
    reasons.emplace_back(why.what());
  }

  std::set<int> attached;
  std::vector<std::string> reasons;

 private:
  std::mutex mutex_;
  runtime::NoReduction none_;
};

}  // namespace dptrain::test
