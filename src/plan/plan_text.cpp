#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "plan/memory.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

using Row = std::vector<std::string>;

/// Left-aligned columns, two spaces apart. A row of one cell is a separate line.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; row.size() > 1 && c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size(); ++c)
      line += fmt::format(" {:<{}} ", row[c], row.size() > 1 ? widths[c] : 0);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string bytes_of(std::int64_t floats) { return human_bytes(static_cast<std::uint64_t>(floats) * sizeof(float)); }

std::string slot_name(const Plan& plan, int slot) { return plan.slots.empty() ? "" : plan.slots[at(slot)].front(); }

/// Inserts the name of the slot as the second column if there are several slots.
Row placed(const Plan& plan, Row row, const std::string& slot) {
  if (plan.slot_count() > 1) row.insert(row.begin() + 1, slot);
  return row;
}

std::string tail_text(const config::Typed& layer) {
  const auto activation = pure_activation(layer);
  return activation ? nn::name_of(*activation) : layer.name();
}

std::string op_text(const Plan& plan, const Step& step) {
  if (step.copies) return "copy from " + slot_name(plan, plan.tensors[at(step.inputs.front())].slot);
  std::string text = step.spec.name();
  if (step.name.find('/') != std::string::npos && pure_activation(step.spec))
    text = nn::name_of(*pure_activation(step.spec));
  constexpr int kVolume = 4;
  if (step.adds_height)
    text += plan.tensors[at(step.inputs.front())].shape.rank() == kVolume ? " of frames as one" : " of height 1";
  if (step.frame_axes > 0) text += fmt::format(" for each of {} steps", step.frames);
  for (const TailEntry& entry : step.tail) text += " + " + tail_text(entry.layer);
  return text;
}

std::string reads_text(const Plan& plan, const Step& step) {
  std::vector<std::string> names;
  for (const int input : step.inputs) names.push_back(plan.tensors[at(input)].name);
  return join(names, ", ");
}

/// "(28, 28, 32)"; begins with the type for ids and masks.
std::string shapes_text(const Plan& plan, const Step& step) {
  std::vector<std::string> shapes;
  for (const int output : step.outputs) {
    const Tensor& tensor = plan.tensors[at(output)];
    shapes.push_back(tensor.is_float() ? tensor.shape.str()
                                       : fmt::format("{} {}", name_of(tensor.type), tensor.shape.str()));
  }
  return join(shapes, ", ");
}

/// The step whose backward includes the last layer of this step's tail.
const Step& undone_by(const Plan& plan, const Step& step) {
  return *std::ranges::find_if(
      plan.steps, [&](const Step& reader) { return reader.undoes && reader.inputs.front() == step.output(); });
}

std::string backward_text(const Plan& plan, const Step& step) {
  if (step.fused_into_loss) return "in the loss";
  if (!step.has_backward) return step.inference_mode ? "- (moving statistics)" : "-";
  std::vector<std::string> parts;
  if (std::ranges::any_of(step.input_gradients, [](int g) { return g != kAbsent; })) parts.emplace_back("data");
  if (std::ranges::any_of(step.parameter_gradients, [](bool wanted) { return wanted; })) parts.emplace_back("weights");
  if (!step.tail.empty() && step.tail.back().undone)
    parts.push_back(fmt::format("{} undone by {}", tail_text(step.tail.back().layer), undone_by(plan, step).name));
  if (step.undoes) parts.push_back(fmt::format("undoes the {} below", tail_text(step.undoes)));
  if (step.inference_mode) parts.emplace_back("moving statistics");
  return join(parts, ", ");
}

std::string steps_text(const Plan& plan, const MemoryPlan& memory, const std::vector<std::string>& choices) {
  const bool trains = !plan.backward.empty();
  const std::vector<Lifetime> lives = tensor_lifetimes(plan, trains ? Mode::kTraining : Mode::kInference);
  const int loss_moment = static_cast<int>(plan.steps.size());
  std::vector<Row> rows{placed(plan, {"#", "step", "op", "reads", "output", "bytes", "backward"}, "slot")};
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const Lifetime& life = lives[at(step.output())];
    std::size_t output_bytes = 0;
    for (const int output : step.outputs) output_bytes += plan.tensors[at(output)].bytes(memory.rows);
    const std::string kept = life.last > loss_moment ? " kept" : "";
    const std::string bytes = life.last < 0 ? "-" : human_bytes(output_bytes) + kept;
    rows.push_back(placed(plan,
                          {std::to_string(s), step.name, op_text(plan, step), reads_text(plan, step),
                           shapes_text(plan, step), bytes, backward_text(plan, step)},
                          slot_name(plan, step.slot)));
    if (s < choices.size() && !choices[s].empty()) rows.push_back({"     " + choices[s]});
  }
  return table(rows);
}

std::string loss_text(const LossStep& loss, const Plan& plan) {
  std::vector<std::string> metrics;
  for (const nn::ResolvedMetric& metric : loss.metrics)
    metrics.insert(metrics.end(), metric.names.begin(), metric.names.end());
  const std::string fused =
      loss.fusion == LossStep::Fusion::kNone ? "" : fmt::format(" with {}", nn::name_of(fused_activation(loss)));
  const std::string weight = loss.weight == 1 ? "" : " times " + shortest(loss.weight);
  const std::string mask = loss.ignore_class ? fmt::format(", without class {}", *loss.ignore_class)
                           : loss.masked()   ? ", masked by " + plan.tensors[at(loss.mask)].name
                                             : "";
  const std::string slot = plan.slot_count() > 1 ? ", on " + slot_name(plan, loss.slot) : "";
  return fmt::format("loss: {}{} of {}{}{}{}, labels: {}, metrics: {}{}{}\n", loss.loss.name(), fused,
                     plan.tensors[at(loss.prediction)].name, loss.from_logits ? " (logits)" : "", weight, mask,
                     loss.labels == nn::LabelKind::kClass ? "class numbers" : "rows of values",
                     metrics.empty() ? "none" : join(metrics, ", "),
                     loss.class_weights.empty() ? "" : ", class weights", slot);
}

std::string fetched_text(const Plan& plan, const BackwardItem& item) {
  const Tensor& source = plan.tensors[at(item.source)];
  return fmt::format("{} from {}", source.name, slot_name(plan, source.slot));
}

std::string item_text(const Plan& plan, const BackwardItem& item) {
  switch (item.kind) {
    case BackwardItem::Kind::kStep: return plan.steps[at(item.step)].name;
    case BackwardItem::Kind::kAccumulateTensor:
      return fmt::format("{} += {}", plan.tensors[at(item.destination)].name, plan.tensors[at(item.source)].name);
    case BackwardItem::Kind::kAccumulateParameter:
      return fmt::format("d {} += {}", plan.parameters[at(item.destination)].path, plan.tensors[at(item.source)].name);
    case BackwardItem::Kind::kFetchTensor: return "copy of " + fetched_text(plan, item);
    case BackwardItem::Kind::kFetchParameter:
      return fmt::format("d {} = copy of {}", plan.parameters[at(item.destination)].path, fetched_text(plan, item));
  }
  return "";
}

std::string backward_list(const Plan& plan) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < plan.backward.size(); ++i) {
    std::vector<std::string> ready;
    for (const int k : plan.backward[i].buckets_ready) ready.push_back(std::to_string(k));
    rows.push_back(placed(plan,
                          {std::to_string(i), item_text(plan, plan.backward[i]),
                           ready.empty() ? "" : "bucket " + join(ready, ", ") + " ready"},
                          slot_name(plan, slot_of(plan, plan.backward[i]))));
  }
  return table(rows);
}

std::string bucket_list(const Plan& plan) {
  std::vector<Row> rows;
  for (int k = 0; k <= last_index(plan.buckets.size()); ++k) {
    std::vector<std::string> paths;
    for (const Parameter& p : plan.parameters)
      if (p.bucket == k) paths.push_back(p.path);
    const std::string range = paths.size() == 1 ? paths.front() : paths.front() + " ... " + paths.back();
    const Bucket& bucket = plan.buckets[at(k)];
    rows.push_back({std::to_string(k), bytes_of(bucket.end - bucket.begin), range});
  }
  return table(rows);
}

/// Memory of each secondary slot, including its copies of the parameters.
std::string slot_list(const Plan& plan, const std::vector<MemoryPlan>& others) {
  std::vector<Row> rows;
  for (int slot = 1; slot < plan.slot_count(); ++slot) {
    const MemoryPlan& memory = others[at(slot - 1)];
    std::vector<bool> used(plan.parameters.size(), false);
    for (const Step& step : plan.steps)
      for (const int p : step.parameters) used[at(p)] = used[at(p)] || step.slot == slot;
    std::int64_t floats = 0;
    for (std::size_t p = 0; p < used.size(); ++p) floats += used[p] ? plan.parameters[p].elements() : 0;
    rows.push_back({slot_name(plan, slot), human_bytes(memory.arena_bytes + memory.packed_bytes),
                    fmt::format("plus copies of {} of parameters, unless they are read in place", bytes_of(floats))});
  }
  return table(rows);
}

std::string memory_list(const Plan& plan, const MemoryPlan& memory, int states) {
  const bool trains = !plan.backward.empty();
  const std::int64_t floats = plan.total + (trains ? plan.statistics_end + states * plan.slot_floats() : 0);
  const std::uint64_t copy =
      plan.compute == DType::kF32 ? 0 : static_cast<std::uint64_t>(plan.total) * size_of(plan.compute);
  std::vector<Row> rows{{"parameters", bytes_of(plan.total)}};
  if (plan.total > plan.tables_end() && trains)
    rows.back().push_back(bytes_of(plan.total - plan.tables_end()) + " frozen");
  if (copy > 0) rows.push_back({"parameters in " + std::string(name_of(plan.compute)), human_bytes(copy)});
  if (memory.packed_bytes > 0)
    rows.push_back({"packed weights", human_bytes(memory.packed_bytes), "copies in layouts of their ops"});
  if (trains) {
    rows.push_back({"gradients", bytes_of(plan.statistics_end)});
    if (plan.table_floats > 0) rows.back().push_back("plus the table rows that a step reads");
    rows.push_back({"optimizer", bytes_of(states * plan.slot_floats()), fmt::format("{} per weight", states)});
  }
  rows.push_back({"tensors", human_bytes(memory.arena_bytes),
                  fmt::format("{} unshared, {} scratch", human_bytes(memory.activation_bytes),
                              human_bytes(memory.scratch_bytes))});
  rows.push_back({"total", human_bytes(static_cast<std::uint64_t>(floats) * sizeof(float) + copy + memory.packed_bytes +
                                       memory.arena_bytes)});
  return table(rows);
}

}  // namespace

std::string print(const Plan& plan, const MemoryPlan& memory, const std::vector<std::string>& choices, int states,
                  const std::vector<MemoryPlan>& others) {
  std::string text = fmt::format("plan of {}, {} rows\n", plan.graph->name, memory.rows);
  for (std::size_t slot = 0; slot < plan.slots.size(); ++slot)
    text += fmt::format("slot {}: {}\n", slot, join(plan.slots[slot], ", "));
  text += steps_text(plan, memory, choices);
  for (const LossStep& loss : plan.losses) text += loss_text(loss, plan);
  if (!plan.has_loss()) text += "loss: none, prediction only\n";
  if (!plan.backward.empty()) text += "backward\n" + backward_list(plan);
  if (!plan.buckets.empty()) text += "buckets\n" + bucket_list(plan);
  const bool alone = plan.slot_count() == 1;
  text += fmt::format("memory of one replica{}\n", alone ? "" : ", in slot " + slot_name(plan, 0));
  text += memory_list(plan, memory, states);
  return alone ? text : text + "memory of its other slots\n" + slot_list(plan, others);
}

}  // namespace dptrain::plan
