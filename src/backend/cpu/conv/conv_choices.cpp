#include "backend/conv_choices.h"

#include <algorithm>
#include <mutex>

#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_passes.h"
#include "backend/cpu/dnnl_support.h"
#include "core/format.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend {

struct ConvChoices::Account {
  struct Entry {
    Pass pass;
    Use use;
  };
  mutable std::mutex mutex;
  std::map<std::string, Entry> entries;  // by key
};

ConvChoices::ConvChoices(Names tuned) : tuned_(std::move(tuned)), account_(std::make_unique<Account>()) {}
ConvChoices::~ConvChoices() = default;

const std::string* ConvChoices::tuned(const std::string& key) const {
  const auto found = tuned_.find(key);
  return found == tuned_.end() ? nullptr : &found->second;
}

std::map<std::string, ConvChoices::Use> ConvChoices::uses() const {
  const std::lock_guard lock(account_->mutex);
  std::map<std::string, Use> all;
  for (const auto& [key, entry] : account_->entries) all.emplace(key, entry.use);
  return all;
}

void ConvChoices::note(cpu::ConvPassKind kind, const cpu::ConvShape& shape, const char* name, bool tuned) {
  const std::lock_guard lock(account_->mutex);
  auto& entry = account_->entries[cpu::conv_key(kind, shape)];
  const std::int64_t rows = std::max(entry.pass.shape.rows, shape.rows);
  entry = {{kind, shape, kernels::cpu::thread_count()}, {name, tuned}};
  entry.pass.shape.rows = rows;
}

std::vector<ConvChoices::Pass> ConvChoices::passes() const {
  const std::lock_guard lock(account_->mutex);
  std::vector<Pass> all;
  for (const auto& [key, entry] : account_->entries) all.push_back(entry.pass);
  return all;
}

namespace cpu {

const char* name_of(ConvPassKind kind) {
  switch (kind) {
    case ConvPassKind::kForward: return "forward";
    case ConvPassKind::kBackwardData: return "data";
    case ConvPassKind::kBackwardWeights: return "weights";
  }
  return "";
}

std::string conv_key(ConvPassKind kind, const ConvShape& s) {
  return fmt::format(
      "{} {}x{}x{} to {}x{}x{} kernel {}x{} strides {}x{} dilation {}x{} pads {},{},{},{} groups {}{}{}{}{}{} threads "
      "{}",
      name_of(kind), s.in_h, s.in_w, s.in_channels, s.out_h, s.out_w, s.out_channels, s.kernel_h, s.kernel_w,
      s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.pad_top, s.pad_bottom, s.pad_left, s.pad_right, s.groups,
      s.bias ? " bias" : "", s.relu ? " relu" : "", s.pool ? " pool" : "",
      gemm_fusion_is_faster(kind, s) ? " beside a normalisation" : "",
      s.bfloat16 ? std::string(" products of bfloat16 by ") + name_of(bfloat16_here()) : "",
      kernels::cpu::thread_count());
}

double flops_of(const ConvShape& s) {
  return 2.0 * static_cast<double>(s.out_h * s.out_w * s.out_channels) * static_cast<double>(s.taps());
}

}  // namespace cpu
}  // namespace dptrain::backend
