#include "plan/traffic.h"

#include <algorithm>
#include <set>

#include "core/index.h"

namespace dptrain::plan {
namespace {

/// Adds up the bytes of one pass.
class Count {
 public:
  Count(const Plan& plan, std::int64_t rows) : plan_(plan), rows_(rows) {}

  /// Tensors that share memory count once.
  void tensor(int number) {
    if (number == kAbsent || !seen_.insert(root(plan_, number)).second) return;
    add(static_cast<double>(plan_.tensors[at(number)].bytes(rows_)));
  }
  void add(double bytes) { bytes_ += bytes; }
  Traffic traffic() const { return {.bytes = bytes_, .set = bytes_}; }

 private:
  const Plan& plan_;
  const std::int64_t rows_;
  std::set<int> seen_;
  double bytes_ = 0;
};

double floats(std::int64_t n) { return static_cast<double>(n) * sizeof(float); }

bool wanted(const Step& step, std::size_t parameter) {
  return parameter < step.parameter_gradients.size() && step.parameter_gradients[parameter];
}

/// Bytes that a pass reads or writes of a weight or its gradient.
double weight_bytes(const Plan& plan, const Step& step, std::size_t k, const Capabilities& device, std::int64_t rows) {
  const double all = floats(plan.parameters[at(step.parameters[k])].elements());
  if (!device.reads_rows(step.spec, k)) return all;
  return std::min(all, static_cast<double>(plan.tensors[at(step.output())].bytes(rows)));
}

bool is_statistic(const Plan& plan, int parameter) {
  return plan.parameters[at(parameter)].kind == ParameterKind::kStatistic;
}

}  // namespace

Traffic forward_traffic(const Plan& plan, const Step& step, const Capabilities& device, std::int64_t rows,
                        std::uint64_t saved) {
  Count count(plan, rows);
  for (const int input : step.inputs) count.tensor(input);
  for (const int output : step.outputs) count.tensor(output);
  // Statistics count once: inference_mode reads them, otherwise the batch's statistics are written.
  for (std::size_t k = 0; k < step.parameters.size(); ++k) count.add(weight_bytes(plan, step, k, device, rows));
  count.add(static_cast<double>(saved));
  return count.traffic();
}

Traffic backward_traffic(const Plan& plan, const Step& step, const Capabilities& device, std::int64_t rows,
                         std::uint64_t saved) {
  Count count(plan, rows);
  const StepReads reads = backward_reads(step);
  for (const int input : reads.inputs) count.tensor(input);
  if (reads.output)
    for (const int output : step.outputs) count.tensor(output);
  for (const int gradient : step.output_gradients) count.tensor(gradient);
  for (const int gradient : step.input_gradients) count.tensor(gradient);
  const bool reads_weights =
      std::ranges::any_of(step.input_gradients, [](int gradient) { return gradient != kAbsent; });
  for (std::size_t k = 0; k < step.parameters.size(); ++k) {
    if (is_statistic(plan, step.parameters[k])) continue;
    const double bytes = weight_bytes(plan, step, k, device, rows);
    if (reads_weights) count.add(bytes);
    if (wanted(step, k)) count.add(bytes);
  }
  count.add(static_cast<double>(saved));
  return count.traffic();
}

Traffic loss_traffic(const Plan& plan, const LossStep& loss, std::int64_t rows) {
  Count count(plan, rows);
  count.tensor(loss.prediction);
  count.tensor(loss.prediction_gradient);
  count.tensor(loss.mask);
  const Shape& shape = plan.tensors[at(loss.prediction)].shape;
  const std::int64_t classes = loss.labels == nn::LabelKind::kClass && shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  count.add(floats(rows * shape.elements() / std::max<std::int64_t>(classes, 1)));  // int32 has the size of a float
  return count.traffic();
}

Traffic sum_traffic(std::int64_t n, std::size_t element_bytes) {
  const double one = static_cast<double>(n) * static_cast<double>(element_bytes);
  return {.bytes = 3 * one, .set = 2 * one};
}

Traffic update_traffic(const Plan& plan, int states) {
  const double one = floats(plan.trainable_end);
  return {.bytes = one * (2 + states + 1 + states), .set = one * (2 + states)};
}

Traffic all_reduce_traffic(const Plan& plan, int replicas) {
  if (replicas < 2) return {};
  const double one = floats(plan.statistics_end);  // an n-th of each of n arenas
  return {.bytes = 2 * one, .set = one};
}

}  // namespace dptrain::plan
