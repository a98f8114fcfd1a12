#include "bench/paper_step.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/quantity.h"
#include "core/text.h"
#include "nn/attention.h"
#include "plan/traffic.h"
#include "session/dry_plan.h"

namespace dptrain::bench {
namespace {

constexpr double kTera = 1e12;

/// Attainable operations per second of these units.
double reached(GpuUnits units, const GpuFigures& figures, const GpuShares& shares) {
  switch (units) {
    case GpuUnits::kVector: return figures.float32 * shares.vector;
    case GpuUnits::kStrict: return figures.float32 * shares.strict;
    case GpuUnits::kTf32: return figures.tf32 * shares.tf32;
    case GpuUnits::kSixteenBit: return figures.sixteen_bit * shares.sixteen_bit;
  }
  return 0;
}

}  // namespace

const GpuFigures& gpu_figures(const std::string& model) {
  // NVIDIA H100 and H200 Tensor Core GPU data sheets; both have the same chip with different memory.
  static const GpuFigures h100{.name = "NVIDIA H100",
                               .bytes = 3.35 * kTera,
                               .float32 = 67 * kTera,
                               .tf32 = 494 * kTera,
                               .sixteen_bit = 989 * kTera};
  static const GpuFigures h200 = [] {
    GpuFigures figures = h100;
    figures.name = "NVIDIA H200";
    figures.bytes = 4.8 * kTera;
    return figures;
  }();
  if (model == "h100") return h100;
  if (model == "h200") return h200;
  throw Error(ErrorKind::kInternal, fmt::format("no figures of a GPU called '{}'", model));
}

const GpuShares& gpu_shares() {
  // Fitted to measured steps: bytes and products to ResNet-50 and VGG16, strict products to ResNet-50. The launch is
  // fitted to the network of dense layers in bfloat16, the host launch to the difference of both modes. The small
  // convolutional networks are not used, so that they can test the model.
  static const GpuShares shares{.bytes = 0.70,
                                .vector = 0.50,
                                .strict = 0.09,
                                .tf32 = 0.44,
                                .sixteen_bit = 0.58,
                                .launch_seconds = 2.9e-6,
                                .eager_launch_seconds = 1.3e-6};
  return shares;
}

GpuTime gpu_time(const PassWork& work, int launches, GpuUnits units, const GpuFigures& figures,
                 const GpuShares& shares) {
  const double computing = work.operations > 0 ? work.operations / reached(units, figures, shares) : 0;
  const double moving = work.bytes / (figures.bytes * shares.bytes);
  const double launching = launches * shares.launch_seconds;
  const double larger = std::max(computing, moving);
  GpuTime time{.seconds = larger + launching, .by = "launches"};
  if (larger > launching)
    time.by = moving >= computing ? "memory" : units == GpuUnits::kVector ? "vectors" : "products";
  return time;
}

namespace {

constexpr double kGiga = 1e9, kMs = 1e3;

double tensor_bytes(const plan::Plan& plan, int tensor, std::int64_t rows) {
  return tensor == plan::kAbsent ? 0 : static_cast<double>(plan.tensors[at(tensor)].bytes(rows));
}

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

bool has_bias(const plan::Step& step) { return step.parameters.size() > 1; }

/// Operations of attention per channel of the keys or values, over all scores. A multiply-add counts as two.
double score_operations(const plan::Plan& plan, const plan::Step& step, std::int64_t heads, std::int64_t rows) {
  const std::size_t key = std::min<std::size_t>(1, step.inputs.size() - 1);  // for self-attention the query itself
  const std::int64_t queries = plan.tensors[at(step.inputs.front())].shape[step.frame_axes];
  const std::int64_t keys = plan.tensors[at(step.inputs[key])].shape[step.frame_axes];
  return 2.0 * static_cast<double>(rows * step.frames * heads * queries) * static_cast<double>(keys);
}

/// Number of projections of a MultiHeadAttention, which cuDNN computes; other kernels compute the attention itself.
constexpr int kProjections = 4;

GpuUnits units_of(const plan::Plan& plan, const std::string& choice, bool tf32) {
  if (choice.find("cudnn") == std::string::npos) return GpuUnits::kVector;
  if (plan.compute != DType::kF32) return GpuUnits::kSixteenBit;
  return tf32 ? GpuUnits::kTf32 : GpuUnits::kStrict;
}

/// Builds passes on one GPU.
class Paper {
 public:
  explicit Paper(const GpuFigures& figures) : figures_(figures) {}

  PaperPass pass(double operations, const PassRule& rule, double bytes, GpuUnits units = GpuUnits::kVector) const {
    PaperPass made{.work = {.operations = operations, .bytes = bytes + rule.again, .set = bytes},
                   .launches = rule.launches,
                   .time = {}};
    PassWork engines = made.work;
    engines.operations -= rule.of_vectors;
    made.time = gpu_time(engines, rule.launches, units, figures_, gpu_shares());
    const GpuTime vectors = gpu_time({.operations = rule.of_vectors}, 0, GpuUnits::kVector, figures_, gpu_shares());
    if (vectors.seconds > made.time.seconds) made.time.by = vectors.by;
    made.time.seconds += vectors.seconds;
    return made;
  }
  /// A pass that only moves bytes.
  PaperPass pass(double bytes, int launches) const { return pass(0, {.launches = launches}, bytes); }

 private:
  const GpuFigures& figures_;
};

PaperItem step_item(const session::DryPlan& dry, std::size_t s, const Paper& paper, bool tf32, bool trains) {
  const plan::Step& step = dry.plan.steps[s];
  const std::string& choice = dry.choices[s];
  const std::int64_t rows = dry.memory.rows;
  const GpuUnits units = units_of(dry.plan, choice, tf32);
  const auto [forward, backward] = dry.flops[s];
  PaperItem item{.name = step.name};
  item.forward = paper.pass(forward * static_cast<double>(rows), forward_rule(dry.plan, step, choice, rows),
                            dry.traffic[s].first.bytes, units);
  if (trains && step.has_backward)
    item.backward = paper.pass(backward * static_cast<double>(rows), backward_rule(dry.plan, step, choice, rows),
                               dry.traffic[s].second.bytes, units);
  return item;
}

/// Copies the batch into the input tensors and converts floats to the compute type.
PaperItem input_item(const plan::Plan& plan, std::int64_t rows, const Paper& paper) {
  double bytes = 0;
  for (const int input : plan.inputs) {
    const plan::Tensor& tensor = plan.tensors[at(input)];
    bytes += static_cast<double>(tensor.bytes(rows) + tensor.elements(rows) * sizeof(float));
  }
  return {.name = "input", .forward = paper.pass(bytes, plan.compute == DType::kF32 ? 1 : 2)};
}

PaperItem loss_item(const plan::Plan& plan, std::int64_t rows, const Paper& paper) {
  constexpr int kKernels = 4;  // the loss with its gradient, its sum, a metric and its sum
  double bytes = 0;
  for (const plan::LossStep& loss : plan.losses) bytes += plan::loss_traffic(plan, loss, rows).bytes;
  return {.name = "losses and metrics", .forward = paper.pass(bytes, kKernels * static_cast<int>(plan.losses.size()))};
}

/// Sums of gradients where several steps read one tensor or share a weight.
PaperItem sums_item(const plan::Plan& plan, std::int64_t rows, const Paper& paper) {
  double bytes = 0;
  int launches = 0;
  for (const plan::BackwardItem& item : plan.backward) {
    using Kind = plan::BackwardItem::Kind;
    if (item.kind == Kind::kAccumulateTensor) {
      const plan::Tensor& tensor = plan.tensors[at(item.destination)];
      bytes += plan::sum_traffic(tensor.elements(rows), size_of(tensor.type)).bytes;
    } else if (item.kind == Kind::kAccumulateParameter) {
      bytes += plan::sum_traffic(plan.parameters[at(item.destination)].elements(), sizeof(float)).bytes;
    } else {
      continue;
    }
    ++launches;
  }
  return {.name = "sums of gradients", .forward = paper.pass(bytes, launches)};
}

PaperItem update_item(const session::DryPlan& dry, const Paper& paper) {
  const plan::Plan& plan = dry.plan;
  const bool copies = plan.compute != DType::kF32, statistics = plan.statistics_end > plan.trainable_end;
  const double copy =
      copies ? static_cast<double>(plan.statistics_end) * static_cast<double>(size_of(plan.compute)) : 0;
  const double bytes = plan::update_traffic(plan, dry.slots).bytes + copy;
  // Kernels: marking a non-finite loss, searching for non-finite gradients, the optimizer, and the statistics.
  return {.name = "update", .forward = paper.pass(bytes, 3 + (statistics ? 1 + int{copies} : 0))};
}

std::string cell(const PaperPass& pass) {
  if (pass.launches == 0) return fmt::format("{:>9} {:<8}", "-", "");
  return fmt::format("{:>9.4f} {:<8}", pass.time.seconds * kMs, pass.time.by);
}

/// "products 41 %, memory 52 %, launches 7 %": shares of the recorded step, by the limiting factor of each pass.
std::string shares_text(const PaperStep& step) {
  std::map<std::string, double> parts;
  for (const PaperItem& item : step.items)
    for (const PaperPass* pass : {&item.forward, &item.backward})
      if (pass->launches > 0) parts[pass->time.by] += item.times * pass->time.seconds;
  std::vector<std::string> words;
  for (const auto& [by, seconds] : parts)
    words.push_back(fmt::format("{} {:.0f} %", by, 100 * seconds / step.seconds(true)));
  return join(words, ", ");
}

template <class F>
double sum_over(const PaperStep& step, F value) {
  double sum = 0;
  for (const PaperItem& item : step.items) sum += item.times * (value(item.forward) + value(item.backward));
  return sum;
}

}  // namespace

PassRule forward_rule(const plan::Plan& plan, const plan::Step& step, const std::string& choice, std::int64_t rows) {
  const double output = tensor_bytes(plan, step.output(), rows);
  if (normalizes_batches(step)) return {.launches = 3, .again = tensor_bytes(plan, step.inputs.front(), rows)};
  if (choice.find("cudnn") == std::string::npos) return {};
  PassRule rule{.launches = mentions(choice, "forward cudnn"), .again = 0};
  // A separate pass in place applies the parts of the layer that the engine does not support.
  if (!step.tail.empty() || choice.find(" + bias") != std::string::npos) {
    ++rule.launches;
    rule.again += 2 * output;
  }
  if (const int steps = recurrent_steps(plan, step, choice); steps > 0)  // per step: the state's product and the gates
    rule.launches += mentions(choice, "state forward cudnn") * (2 * steps - 1);
  if (const auto* attention = step.spec.get_if<nn::MultiHeadAttentionSpec>()) {
    rule.launches = kProjections + 1;
    rule.of_vectors = score_operations(plan, step, attention->num_heads, rows) *
                      static_cast<double>(attention->key_dim + attention->value_width());
  }
  return rule;
}

PassRule backward_rule(const plan::Plan& plan, const plan::Step& step, const std::string& choice, std::int64_t rows) {
  if (normalizes_batches(step)) {
    // x and the gradient are read once for the sums and again for the result. With an addend before a ReLU, the
    // gradient masked by the ReLU is also written, for the addend.
    const double gradient = tensor_bytes(plan, step.output_gradients.front(), rows);
    const double masked = step.tail.size() > 1 ? gradient : 0;
    return {.launches = 3, .again = tensor_bytes(plan, step.inputs.front(), rows) + gradient + masked};
  }
  if (choice.find("cudnn") == std::string::npos) return {};
  const int data = mentions(choice, "data cudnn"), weights = mentions(choice, "weights cudnn");
  const double gradient = tensor_bytes(plan, step.output_gradients.front(), rows);
  PassRule rule{.launches = data + weights, .again = data > 0 && weights > 0 ? gradient : 0};
  if (plan.compute != DType::kF32) rule.launches += weights;  // gradients of weights are converted to float32
  if (has_bias(step)) {  // a two-stage sum over positions, which also applies the activation's gradient in place
    rule.launches += 2;
    rule.again += gradient;
  }
  if (!step.tail.empty()) {
    if (!has_bias(step)) ++rule.launches;
    rule.again += 2 * gradient;
  }
  if (const int steps = recurrent_steps(plan, step, choice); steps > 0)
    rule.launches += mentions(choice, "state forward cudnn") * 2 * steps;
  if (const auto* attention = step.spec.get_if<nn::MultiHeadAttentionSpec>()) {
    rule.launches = kProjections * rule.launches + 2;
    rule.of_vectors = score_operations(plan, step, attention->num_heads, rows) *
                      static_cast<double>(3 * attention->key_dim + 2 * attention->value_width());
  }
  return rule;
}

double PaperStep::operations() const {
  return sum_over(*this, [](const PaperPass& pass) { return pass.work.operations; });
}
double PaperStep::bytes() const {
  return sum_over(*this, [](const PaperPass& pass) { return pass.work.bytes; });
}
int PaperStep::launches() const {
  return static_cast<int>(sum_over(*this, [](const PaperPass& pass) { return pass.launches; }));
}
double PaperStep::seconds(bool recorded) const {
  const double sum = sum_over(*this, [](const PaperPass& pass) { return pass.time.seconds; });
  return recorded ? sum : sum + launches() * gpu_shares().eager_launch_seconds;
}

PaperStep paper_step(const session::DryPlan& dry, const std::string& model, std::int64_t micro_batches, bool tf32) {
  const GpuFigures& figures = gpu_figures(model);
  const Paper paper(figures);
  const plan::Plan& plan = dry.plan;
  const std::int64_t rows = dry.memory.rows;
  PaperStep made{.gpu = figures.name, .items = {}, .samples = rows * micro_batches, .trains = plan.has_loss()};
  made.items.push_back(input_item(plan, rows, paper));
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (!plan.steps[s].copies && !(made.trains && plan.steps[s].fused_into_loss))
      made.items.push_back(step_item(dry, s, paper, tf32, made.trains));
  if (!made.trains) return made;
  made.items.push_back(loss_item(plan, rows, paper));
  if (PaperItem sums = sums_item(plan, rows, paper); sums.forward.launches > 0) made.items.push_back(std::move(sums));
  if (micro_batches > 1)
    made.items.push_back({.name = "sum of micro-batches",
                          .forward = paper.pass(plan::sum_traffic(plan.statistics_end, sizeof(float)).bytes, 1)});
  for (PaperItem& item : made.items) item.times = static_cast<int>(micro_batches);
  made.items.push_back(update_item(dry, paper));
  return made;
}

std::string paper_step_text(const PaperStep& step, std::uint64_t replica_bytes, std::uint64_t gpu_bytes) {
  std::size_t width = 4;
  for (const PaperItem& item : step.items) width = std::max(width, item.name.size());
  std::string text =
      fmt::format("prediction, not measured: a {} on an {}\n", step.trains ? "step" : "batch forward", step.gpu);
  text += fmt::format("  {:<{}}  {:>9} {:<8}  {:>9} {:<8}  {:>9}  {:>10}  {:>8}\n", "item", width, "forward", "ms by",
                      "backward", "ms by", "GFLOP", "bytes", "launches");
  for (const PaperItem& item : step.items)
    text += fmt::format("  {:<{}}  {}  {}  {:>9.3f}  {:>10}  {:>8}{}\n", item.name, width, cell(item.forward),
                        cell(item.backward), (item.forward.work.operations + item.backward.work.operations) / kGiga,
                        human_bytes(static_cast<std::uint64_t>(item.forward.work.bytes + item.backward.work.bytes)),
                        item.forward.launches + item.backward.launches,
                        item.times > 1 ? fmt::format("  times {}", item.times) : "");
  text += fmt::format("  in all: {:.1f} GFLOP, {}, {} launches; {}\n", step.operations() / kGiga,
                      human_bytes(static_cast<std::uint64_t>(step.bytes())), step.launches(), shares_text(step));
  const auto line = [&](const char* how, bool recorded) {
    const double seconds = step.seconds(recorded);
    return fmt::format("  predicted, {}: {:.3f} ms, {} samples/s\n", how, seconds * kMs,
                       rate_text(static_cast<double>(step.samples) / seconds));
  };
  text += line("as one CUDA graph", true) + line("launched one by one", false);
  return text + fmt::format("  memory of a replica: {} of {}\n", human_bytes(replica_bytes), human_bytes(gpu_bytes));
}

}  // namespace dptrain::bench
