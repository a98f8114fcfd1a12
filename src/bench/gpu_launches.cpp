#include "bench/gpu_launches.h"

#include <algorithm>
#include <bit>

#include "core/format.h"
#include "core/index.h"
#include "nn/attention.h"
#include "nn/embedding.h"

namespace dptrain::bench {
namespace {

int mentions(const std::string& text, const std::string& words) {
  int count = 0;
  for (std::size_t k = text.find(words); k != std::string::npos; k = text.find(words, k + words.size())) ++count;
  return count;
}

/// Number of sequential steps of a recurrent layer on cuDNN; 0 for other layers.
int recurrent_steps(const plan::Plan& plan, const plan::Step& step, const std::string& choice) {
  if (choice.find("state forward cudnn") == std::string::npos) return 0;
  const Shape& shape = plan.tensors[at(step.inputs.front())].shape;
  return shape.rank() > 0 ? static_cast<int>(shape[step.frame_axes]) : 0;
}

bool normalizes_batches(const plan::Step& step) {
  return step.spec.name() == "BatchNormalization" && !step.inference_mode;
}

/// Number of projections of a MultiHeadAttention, which cuDNN computes; other kernels compute the attention itself.
constexpr int kProjections = 4;

bool is_attention(const plan::Step& step) { return step.spec.get_if<nn::MultiHeadAttentionSpec>() != nullptr; }

/// Clearing the table, three kernels per 8 bits of an id to sort the ids, and the sums.
int embedding_gradient_launches(const nn::EmbeddingSpec& embedding) {
  return 2 + 3 * ((static_cast<int>(std::bit_width(static_cast<std::uint64_t>(embedding.input_dim))) + 7) / 8);
}

/// Sums of gradients where several steps read one tensor or share a weight.
int sums_of_gradients(const plan::Plan& plan) {
  using Kind = plan::BackwardItem::Kind;
  return static_cast<int>(std::ranges::count_if(plan.backward, [](const plan::BackwardItem& item) {
    return item.kind == Kind::kAccumulateTensor || item.kind == Kind::kAccumulateParameter;
  }));
}

}  // namespace

int forward_launches(const plan::Plan& plan, const plan::Step& step, const std::string& choice) {
  if (normalizes_batches(step)) return 3;
  if (choice.find("cudnn") == std::string::npos) return 1;
  if (is_attention(step)) return kProjections + 1;
  int count = mentions(choice, "forward cudnn");
  // A separate pass in place applies the parts of the layer that the engine does not support.
  if (!step.tail.empty() || choice.find(" + bias") != std::string::npos) ++count;
  if (const int steps = recurrent_steps(plan, step, choice); steps > 0)  // per step: the state's product and the gates
    count += mentions(choice, "state forward cudnn") * (2 * steps - 1);
  return count;
}

int backward_launches(const plan::Plan& plan, const plan::Step& step, const std::string& choice) {
  if (normalizes_batches(step)) return 3;
  if (const auto* embedding = step.spec.get_if<nn::EmbeddingSpec>()) return embedding_gradient_launches(*embedding);
  if (choice.find("cudnn") == std::string::npos) return 1;
  const int weights = mentions(choice, "weights cudnn");
  int count = mentions(choice, "data cudnn") + weights;
  if (plan.compute != DType::kF32) count += weights;  // gradients of weights are converted to float32
  if (step.parameters.size() > 1)
    count += 2;  // the bias: a two-stage sum over positions, which also applies the activation's gradient in place
  else if (!step.tail.empty())
    ++count;
  if (const int steps = recurrent_steps(plan, step, choice); steps > 0)
    count += mentions(choice, "state forward cudnn") * 2 * steps;
  return is_attention(step) ? kProjections * count + 2 : count;
}

std::vector<LaunchItem> launch_items(const plan::Plan& plan, const std::vector<std::string>& choices,
                                     std::int64_t micro_batches) {
  constexpr int kOfLoss = 4;    // the loss with its gradient, its sum, a metric and its sum
  constexpr int kOfUpdate = 3;  // marking a non-finite loss, searching for non-finite gradients, the optimizer
  const bool trains = plan.has_loss(), copies = plan.compute != DType::kF32;
  std::vector<LaunchItem> items{{.name = "input", .forward = copies ? 2 : 1}};
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const plan::Step& step = plan.steps[s];
    if (step.copies || (trains && step.fused_into_loss)) continue;
    items.push_back({.name = step.name, .forward = forward_launches(plan, step, choices[s])});
    if (trains && step.has_backward) items.back().backward = backward_launches(plan, step, choices[s]);
  }
  if (!trains) return items;
  items.push_back({.name = "losses and metrics", .forward = kOfLoss * static_cast<int>(plan.losses.size())});
  if (const int sums = sums_of_gradients(plan); sums > 0)
    items.push_back({.name = "sums of gradients", .forward = sums});
  if (micro_batches > 1) items.push_back({.name = "sum of micro-batches", .forward = 1});
  for (LaunchItem& item : items) item.times = static_cast<int>(micro_batches);
  const bool statistics = plan.statistics_end > plan.trainable_end;
  items.push_back({.name = "update", .forward = kOfUpdate + (statistics ? 1 + int{copies} : 0)});
  return items;
}

int launches(const std::vector<LaunchItem>& items) {
  int sum = 0;
  for (const LaunchItem& item : items) sum += item.times * (item.forward + item.backward);
  return sum;
}

std::string launches_text(const std::vector<LaunchItem>& items) {
  std::size_t width = 4;
  for (const LaunchItem& item : items) width = std::max(width, item.name.size());
  std::string text =
      fmt::format("launches of a step, by rule\n  {:<{}}  {:>7}  {:>8}\n", "item", width, "forward", "backward");
  for (const LaunchItem& item : items)
    text += fmt::format("  {:<{}}  {:>7}  {:>8}{}\n", item.name, width, item.forward,
                        item.backward > 0 ? std::to_string(item.backward) : "-",
                        item.times > 1 ? fmt::format("  times {}", item.times) : "");
  return text + fmt::format("  in all: {} launches\n", launches(items));
}

}  // namespace dptrain::bench
