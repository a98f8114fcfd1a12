#include "evaluation/worst_samples.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace dptrain::evaluation {
namespace {

bool is_worse(const WorstSample& a, const WorstSample& b) {
  return std::tuple(-a.loss, a.index) < std::tuple(-b.loss, b.index);
}

}  // namespace

double class_loss(float probability) {
  constexpr float kMin = 1e-7F;
  return -std::log(probability > kMin ? static_cast<double>(probability) : static_cast<double>(kMin));
}

void WorstSamples::add(const WorstSample& sample) {
  if (heap_.size() == most_) {
    if (most_ == 0 || !is_worse(sample, heap_.front())) return;
    std::ranges::pop_heap(heap_, is_worse);
    heap_.pop_back();
  }
  heap_.push_back(sample);
  std::ranges::push_heap(heap_, is_worse);
}

void WorstSamples::add_processes(distributed::Processes& processes) {
  std::vector<WorstSample> all = std::exchange(heap_, {});
  evaluation::add_processes(all, processes);
  for (const WorstSample& sample : all) add(sample);
}

std::vector<WorstSample> WorstSamples::sorted() const {
  std::vector<WorstSample> all = heap_;
  std::ranges::sort(all, is_worse);
  return all;
}

}  // namespace dptrain::evaluation
