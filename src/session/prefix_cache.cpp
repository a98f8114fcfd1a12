#include "session/prefix_cache.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/quantity.h"
#include "core/text.h"
#include "plan/plan.h"
#include "runtime/replica_set.h"
#include "session/dry_plan.h"
#include "session/slots.h"

namespace dptrain::session {
namespace {

using Kind = experiment::CachePrefix::Kind;

/// `auto` uses at most 1/kShareOfMemory of the free memory.
constexpr std::uint64_t kShareOfMemory = 2;

/// The first random transform of training; "" if there is none.
std::string random_transform(const experiment::ConfigFile& config) {
  for (const config::Typed& spec : config.data.transforms.train)
    if (data::make_transform(spec)->random()) return spec.name();
  return "";
}

bool has_frozen_weights(const graph::Model& model) {
  return std::ranges::any_of(model.graph.layers,
                             [](const graph::Layer& layer) { return !layer.trainable && !layer.weights.empty(); });
}

/// Why nothing can be cached, however much memory there is; "" if it can.
std::string obstacle(const experiment::ConfigFile& config, const plan::FrozenPrefix& prefix, bool data_draws) {
  if (!prefix.none.empty()) return prefix.none;
  if (data_draws) return "the clips of data.train start at random frames in every epoch (write start: middle)";
  if (const std::string name = random_transform(config); !name.empty())
    return fmt::format("data.transforms.train has {}, which draws again in every epoch", name);
  return "";
}

std::string describe(const graph::Graph& graph, const CacheDecision& decision, const CacheInputs& question,
                     std::uint64_t bytes) {
  std::vector<std::string> names, shapes;
  for (const graph::Port& port : decision.prefix.border) {
    names.push_back(graph::name_of(graph, port));
    shapes.push_back(graph::tensor_of(graph, port).shape.str());
  }
  return fmt::format("frozen up to {} ({}, {}); features of {}, {} each, are computed once and kept {}, {}",
                     join(names, ", "), counted(decision.prefix.layers, "layer"),
                     counted(decision.prefix.weights, "weight"), counted(question.samples, "sample"),
                     join(shapes, ", "), decision.folder.empty() ? "in memory" : "in " + decision.folder,
                     human_bytes(bytes));
}

/// Why `auto` does not cache; "" if it does.
std::string reason_not_to_cache(const CacheInputs& question, std::uint64_t bytes) {
  if (question.epochs <= 1) return "the run has no second epoch";
  if (bytes > question.free_memory / kShareOfMemory)
    return fmt::format(
        "features take {}, half of the free memory is {}; runtime.cache_frozen_prefix: {{disk: FOLDER}} keeps "
        "them in a file",
        human_bytes(bytes), human_bytes(question.free_memory / kShareOfMemory));
  return "";
}

plan::Plan prefix_plan(const experiment::ConfigFile& config, const graph::Model& model, const CacheDecision& decision,
                       const DeviceRequest& request, const backend::Device& device) {
  plan::PlanOptions options;
  options.compute = compute_type(config.train.dtype_policy, request);
  options.part = plan::Part::kPrefix;
  options.border = decision.prefix.border;
  return plan::make_plan(model, options, device);
}

runtime::SetOptions set_options(const experiment::ConfigFile& config, int replicas, std::int64_t global_batch,
                                const std::vector<FeatureJob>& jobs) {
  runtime::SetOptions set;
  set.weights = config.parallel.split.weights;
  if (set.weights.empty()) set.weights.assign(at(replicas), 1.0);
  set.virtual_shards = virtual_shards(config.parallel, replicas);
  set.accumulate_steps = config.train.accumulate_steps.value_or(1);  // as in training, for the same limit of memory
  set.batch_sizes = {global_batch};
  for (const FeatureJob& job : jobs)
    if (const std::int64_t rest = job.source->size() % global_batch; rest != 0) set.batch_sizes.push_back(rest);
  set.seed = config.seed;
  return set;
}

/// Runs batches through the prefix and stores its outputs.
class FeatureWriter {
 public:
  FeatureWriter(const plan::Plan& plan, runtime::ReplicaSet& replicas, std::int64_t global_batch)
      : plan_(plan), replicas_(replicas) {
    for (const int output : plan.outputs)
      rows_.emplace_back(static_cast<std::size_t>(global_batch) * plan::host_row_bytes(plan.tensors[at(output)]));
  }

  void fill(const data::Batch& batch, data::Features& features) {
    std::vector<void*> outputs;
    std::vector<const std::byte*> row;
    for (std::vector<std::byte>& rows : rows_) {
      outputs.push_back(rows.data());
      row.push_back(rows.data());
    }
    replicas_.predict(batch.view(), outputs);
    for (const std::int64_t index : batch.own_indices()) {
      features.store(index, row);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += plan::host_row_bytes(plan_.tensors[at(plan_.outputs[i])]);
    }
  }

 private:
  const plan::Plan& plan_;
  runtime::ReplicaSet& replicas_;
  std::vector<std::vector<std::byte>> rows_;  ///< outputs of a batch, one buffer per output
};

}  // namespace

CacheDecision decide_cache(const experiment::ConfigFile& config, const graph::Model& model,
                           const CacheInputs& question) {
  const experiment::CachePrefix& setting = config.runtime.cache_frozen_prefix;
  CacheDecision decision;
  if (setting.kind == Kind::kOff) return decision;
  decision.prefix = plan::frozen_prefix(model);
  const bool asked = setting.kind != Kind::kAuto;
  if (setting.kind == Kind::kDisk) decision.folder = setting.folder.value;

  std::string why = obstacle(config, decision.prefix, question.data_draws);
  if (asked && !why.empty())
    throw Error(ErrorKind::kUsage,
                fmt::format("runtime.cache_frozen_prefix: {}; nothing can be cached, use auto or off", why));
  const std::uint64_t bytes = data::feature_bytes(border_inputs(model.graph, decision.prefix), question.samples);
  if (setting.kind == Kind::kMemory && bytes > question.free_memory)
    throw Error(ErrorKind::kMemory,
                fmt::format("runtime.cache_frozen_prefix: memory: features take {}, {} are free; use auto or "
                            "{{disk: FOLDER}}",
                            human_bytes(bytes), human_bytes(question.free_memory)));
  if (!asked && why.empty()) why = reason_not_to_cache(question, bytes);
  decision.on = why.empty();
  if (decision.on)
    decision.line = describe(model.graph, decision, question, bytes);
  else if (has_frozen_weights(model))
    decision.line = "not cached: " + why;
  return decision;
}

std::vector<data::FeatureInput> border_inputs(const graph::Graph& graph, const plan::FrozenPrefix& prefix) {
  std::vector<data::FeatureInput> inputs;
  for (const graph::Port& port : prefix.border) {
    const nn::OutputDef& tensor = graph::tensor_of(graph, port);
    inputs.push_back({graph::name_of(graph, port), tensor.shape, tensor.type});
  }
  return inputs;
}

std::optional<std::vector<std::shared_ptr<const data::Source>>> compute_features(
    const experiment::Experiment& experiment, const graph::Model& model, const DeviceRequest& asked,
    const std::shared_ptr<backend::ConvChoices>& conv_choices, const CacheDecision& decision, std::int64_t global_batch,
    std::vector<FeatureJob> jobs, const std::function<bool(std::int64_t done)>& should_continue) {
  const experiment::ConfigFile& config = experiment.config;
  std::vector<std::shared_ptr<data::Features>> all;  // first, so that memory is allocated before the work begins
  for (const FeatureJob& job : jobs)
    all.push_back(
        std::make_shared<data::Features>(job.source, border_inputs(model.graph, decision.prefix), decision.folder));

  const DeviceRequest request = first_slots(asked);
  auto devices = make_devices(request, runtime_options(config, conv_choices, true));  // algorithms as in training
  const plan::Plan plan = prefix_plan(config, model, decision, request, *devices.front());
  const auto connector = make_connector(request, config.parallel, config.runtime.deterministic);
  runtime::ReplicaSet replicas(plan, std::move(devices), *connector,
                               set_options(config, request.replicas, global_batch, jobs));
  replicas.push(model);

  FeatureWriter feature_writer(plan, replicas, global_batch);
  std::int64_t done = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (data::Batch batch = jobs[i].loader->next(); batch.rows() > 0; batch = jobs[i].loader->next()) {
      feature_writer.fill(batch, *all[i]);
      done += batch.rows();
      if (!should_continue(done)) return std::nullopt;
    }
  return std::vector<std::shared_ptr<const data::Source>>(all.begin(), all.end());
}

}  // namespace dptrain::session
