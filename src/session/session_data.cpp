#include "session/session_data.h"

#include <algorithm>
#include <map>
#include <utility>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "data/cache.h"
#include "data/labels.h"
#include "data/sources/dataset.h"
#include "experiment/checks.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "nn/loss.h"
#include "runtime/batch_queue.h"
#include "session/class_weights.h"
#include "session/session.h"

namespace dptrain::session {
namespace {

/// [H, W] of an output whose positions are pixels with a class each; rank 0 for other outputs.
Shape label_map(const config::Typed& loss, const Shape& output) {
  if (output.rank() != 3 || !nn::compares_classes(loss)) return {};
  return {output[0], output[1]};
}

std::optional<std::int64_t> fill_label(const experiment::Experiment& experiment) {
  const config::Of<data::dataset_family>& train = experiment.config.data.train;
  return train ? data::def_of(train).common(train.spec()).fill_label : std::nullopt;
}

}  // namespace

nn::LabelKind label_kind(const config::Typed& loss, const Shape& output, const data::Source& source, int which,
                         bool mixed) {
  const nn::LossType& type = nn::loss_type(loss);
  if (mixed || type.reads != nn::Reads::kClasses) return nn::LabelKind::kDense;
  if (source.label_type(which) == data::LabelType::kClass) return nn::LabelKind::kClass;
  if (source.label_type(which) == data::LabelType::kMap) return nn::LabelKind::kClass;
  const std::int64_t positions = experiment::positions_of(output);
  if (positions > 1 && source.label_width(which) == positions) return nn::LabelKind::kClass;
  if (type.integer_labels_only && source.label_width(which) == 1)
    throw Error(ErrorKind::kData, fmt::format("{}: the labels are floats, {} expects class numbers; store integers",
                                              source.label_place(0, which), type.keras_name));
  return nn::LabelKind::kDense;
}

namespace {

/// Adds the location in the config to an error of this kind that `make` throws.
template <class Make>
auto at_place(const config::Mark& mark, ErrorKind kind, const Make& make) -> decltype(make()) try {
  return make();
} catch (const config::ConfigError&) {
  throw;
} catch (const Error& error) {
  if (error.kind() != kind || !mark.known() || error.is_complete()) throw;
  config::Diagnostics diagnostics;
  diagnostics.error(mark, error.what());
  throw config::ConfigError(diagnostics, error.kind());
}

}  // namespace

SessionData::SessionData(const experiment::Experiment& experiment, const graph::Graph& graph,
                         const SessionOptions& options, Setting setting)
    : experiment_(experiment),
      graph_(graph),
      setting_(std::move(setting)),
      loader_only_(options.loader_only),
      fitted_state_(options.fitted_state),
      fitted_use_(options.fitted_use) {
  if (!options.wants_data) return;
  objectives_ = experiment::objectives(experiment.config.train, graph);
  open(options);
  resolve_class_weights(options);
  measure_lengths(options);
  make_loaders(options);
}

void SessionData::open(const SessionOptions& options) {
  const experiment::DataSection& section = experiment_.config.data;
  const data::DatasetConfig datasets{section.train, section.validation, section.test};
  data::RoleSelection wanted{options.wants_train, options.wants_validation, options.wants_test};
  if (options.data == DataMode::kSynthetic) {
    wanted.train = true;
    sources_ = data::synthetic_sources(datasets, model_side(), experiment_.config.seed, wanted);
  } else {
    if (options.wants_train && !datasets.train)
      throw Error(ErrorKind::kUsage,
                  fmt::format("{}: no data.train; add a data set, or give --data synthetic", experiment_.file));
    sources_ = data::open_sources(datasets, model_side(), experiment_.config.seed, wanted);
  }
  const auto any = [this] {
    return sources_.train ? sources_.train : sources_.validation ? sources_.validation : sources_.test;
  };
  if (!any()) return;
  const std::vector<std::string> names = experiment::output_names(graph_);
  const bool mixed = experiment::mixing_transform(section) != nullptr;
  for (plan::Objective& objective : objectives_) {
    const auto output = static_cast<std::size_t>(objective.output);
    const Shape& shape = graph::tensor_of(graph_, graph_.outputs[output]).shape;
    if (label_map(objective.loss, shape).rank() > 0) make_label_maps(names[output]);
    objective.labels = label_kind(objective.loss, shape, *any(), data::find_label(*any(), names[output]), mixed);
  }
  class_names_ = data::class_names_of(*any());
}

/// Labels with a value for each pixel become maps where the transforms move pixels or mix samples.
void SessionData::make_label_maps(const std::string& output) {
  for (auto* const source : {&sources_.train, &sources_.validation, &sources_.test}) {
    const bool evaluation = source != &sources_.train;
    const data::Pipeline pipeline(transforms(evaluation), evaluation);
    if (*source && (pipeline.moves_pixels() || pipeline.mixes()))
      *source = data::with_label_map(*source, data::find_label(**source, output));
  }
}

/// Class weights apply to training only.
void SessionData::resolve_class_weights(const SessionOptions& options) {
  const std::optional<experiment::ClassWeight>& class_weight = experiment_.config.train.class_weight;
  if (!class_weight || !options.training || objectives_.size() != 1 || !sources_.train) return;
  const data::ModelSide side = model_side();
  const std::int64_t positions = experiment::positions_of(side.outputs.front());
  objectives_.front().class_weights =
      session::class_weights(*class_weight, {.labels = *sources_.train,
                                             .which = data::find_label(*sources_.train, side.output_names.front()),
                                             .outputs = side.outputs.front().elements() / positions,
                                             .positions = positions,
                                             .ignored = plan::ignored_class(objectives_.front()),
                                             .synthetic = options.data == DataMode::kSynthetic});
}

/// Buckets apply to training only.
void SessionData::measure_lengths(const SessionOptions& options) {
  const experiment::BucketByLength& bucketing = experiment_.config.data.loader.bucket_by_length;
  if (bucketing.window == 0 || !options.training || !sources_.train) return;
  auto lengths =
      at_place(bucketing.mark, ErrorKind::kUsage, [&] { return data::sample_lengths(*sources_.train, model_side()); });
  buckets_ = {bucketing.window, std::make_shared<const std::vector<std::int32_t>>(std::move(lengths))};
}

void SessionData::make_loaders(const SessionOptions& options) {
  const experiment::DataSection& section = experiment_.config.data;
  const std::map<std::string, config::Mark> places{
      {"train", section.train.mark()}, {"validation", section.validation.mark()}, {"test", section.test.mark()}};
  const auto add = [&](const char* name, const std::shared_ptr<const data::Source>& source, const LoaderPlan& plan) {
    sets_.push_back({name, source, plan.evaluation, at_place(places.at(name), ErrorKind::kData, [&] {
                       for (const data::LabelForm& form : label_forms(experiment_, objectives_, model_side()))
                         data::LabelWriter(source, form).check_maps();
                       return make_loader(source, plan);
                     })});
  };
  const auto in_order = [](const char* name) { return LoaderPlan{.name = name, .evaluation = true, .in_order = true}; };
  if (options.training)
    add("train", sources_.train, {.name = "train"});
  else if (options.wants_train)
    add("train", sources_.train, in_order("train-eval"));
  if (sources_.validation) add("validation", sources_.validation, in_order("validation"));
  if (sources_.test) add("test", sources_.test, in_order("test"));
}

std::vector<config::Typed> SessionData::transforms(bool evaluation) const {
  const auto& list = evaluation ? experiment_.config.data.transforms.eval : experiment_.config.data.transforms.train;
  return {list.begin(), list.end()};
}

data::Loader* SessionData::loader(const std::string& name) const {
  const auto found = std::ranges::find(sets_, name, &Set::name);
  return found == sets_.end() ? nullptr : found->loader.get();
}

std::shared_ptr<const data::Source> SessionData::source(const std::string& name) const {
  const auto found = std::ranges::find(sets_, name, &Set::name);
  return found == sets_.end() ? nullptr : found->source;
}

std::int64_t SessionData::samples() const {
  std::int64_t samples = 0;
  for (const Set& set : sets_) samples += set.loader->samples();
  return samples;
}

std::string SessionData::class_weights_line() const {
  if (objectives_.empty() || objectives_.front().class_weights.empty()) return "";
  return describe_class_weights(*experiment_.config.train.class_weight, objectives_.front().class_weights,
                                class_names_.names_of(model_side().output_names.front()));
}

std::string SessionData::fingerprint() const { return sources_.train ? sources_.train->fingerprint() : ""; }

std::string SessionData::facts() const {
  std::string facts;
  for (const Set& set : sets_)
    facts += fmt::format("{}: {} samples, {}\n", set.name, set.source->size(), set.source->fingerprint());
  return facts;
}

data::ModelSide SessionData::model_side() const {
  data::ModelSide side = experiment::model_side(graph_, objectives_);
  side.fitted_state = fitted_state_;
  side.fitted_use = fitted_use_;
  side.pixels = data::expect_pixels(transforms(false));
  return side;
}

std::unique_ptr<data::Loader> SessionData::make_loader(const std::shared_ptr<const data::Source>& source,
                                                       const LoaderPlan& plan) const {
  const experiment::DataSection& section = experiment_.config.data;
  data::LoaderOptions options;
  options.batch_size = setting_.global_batch;
  options.shuffle = plan.in_order ? data::Shuffle{data::Shuffle::Kind::kNone, 0} : section.loader.shuffle;
  if (!plan.in_order) options.buckets = buckets_;
  options.seed = experiment_.config.seed;
  options.workers = section.loader.workers.value.value_or(0);
  options.prefetch = section.loader.prefetch.value.value_or(0);
  options.uses_all_cores = loader_only_;
  options.busy_threads = setting_.busy_threads;
  options.allocate = setting_.allocate;
  options.held = static_cast<int>(runtime::BatchQueue::kMaxBatches);
  options.sets_number = !plan.in_order;
  setting_.share_batches(options);
  options.form = plan.form;
  options.dataset = plan.dataset;
  data::ModelSide side = model_side();
  const std::vector<data::LabelForm> labels =
      plan.labels ? label_forms(experiment_, objectives_, side) : std::vector<data::LabelForm>{};
  if (!plan.features) {
    data::Pipeline pipeline(transforms(plan.evaluation), plan.evaluation);
    auto [samples, rest] =
        data::cached(source, std::move(pipeline), section.loader.cache, plan.name, setting_.processes_here, side);
    return std::make_unique<data::Loader>(std::move(samples), std::move(rest), side, labels, options);
  }
  side.input_names.clear();
  side.input_shapes.clear();
  for (const data::FeatureInput& input : border_) {
    side.input_names.push_back(input.name);
    side.input_shapes.push_back(input.shape);
  }
  data::Pipeline pipeline(transforms(plan.evaluation), plan.evaluation);
  return std::make_unique<data::Loader>(data::with_transformed_maps(source, std::move(pipeline)), data::Pipeline(),
                                        side, labels, options);
}

std::vector<data::LabelForm> label_forms(const experiment::Experiment& experiment,
                                         const std::vector<plan::Objective>& objectives, const data::ModelSide& side) {
  std::vector<data::LabelForm> labels;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const plan::Objective& one = objectives[i];
    const bool dense = one.labels == nn::LabelKind::kDense;
    const std::optional<std::int64_t> ignored = plan::ignored_class(one);
    labels.push_back({.output = side.output_names[i],
                      .kind = one.labels,
                      .width = side.outputs[i].elements(),
                      .positions = experiment::positions_of(side.outputs[i]),
                      .map = label_map(one.loss, side.outputs[i]),
                      .ignored = ignored,
                      .fill = fill_label(experiment).value_or(ignored.value_or(0)),
                      .probabilities = dense && nn::loss_type(one.loss).labels_in_unit_interval});
  }
  return labels;
}

std::vector<FeatureJob> SessionData::feature_jobs() {
  std::vector<FeatureJob> jobs;
  for (Set& set : sets_) {
    set.loader.reset();
    jobs.push_back(
        {set.source,
         make_loader(set.source, {.name = set.name, .evaluation = set.evaluation, .in_order = true, .labels = false})});
  }
  return jobs;
}

void SessionData::set_features(const std::optional<std::vector<std::shared_ptr<const data::Source>>>& features,
                               std::vector<data::FeatureInput> inputs) {
  border_ = std::move(inputs);
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Set& set = sets_[i];
    set.loader = make_loader(
        features ? (*features)[i] : set.source,
        {.name = set.name, .evaluation = set.evaluation, .in_order = set.evaluation, .features = features.has_value()});
  }
}

/// Accounts of the data sets' unreadable samples; a Split shares the account of its set.
std::vector<std::shared_ptr<data::BadSamples>> SessionData::accounts() const {
  std::vector<std::shared_ptr<data::BadSamples>> found;
  for (const auto& source : {sources_.train, sources_.validation, sources_.test}) {
    const auto account = source ? source->bad_samples() : nullptr;
    if (account && std::find(found.begin(), found.end(), account) == found.end()) found.push_back(account);
  }
  return found;
}

void SessionData::on_bad_sample(const std::function<void(const data::BadSample&)>& listener) {
  for (const auto& account : accounts()) account->set_listener(listener);
}

void SessionData::warn_about_bad_samples(const std::string& listed_in) {
  std::size_t count = 0;
  std::string last, word;  // "samples" if there are both files and rows
  for (const auto& account : accounts()) {
    if (account->all().empty()) continue;
    count += account->all().size();
    last = account->all().back().str();
    word = word.empty() || word == account->word() ? account->word() : "samples";
  }
  if (count == bad_samples_reported_) return;
  bad_samples_reported_ = count;
  log::warn(fmt::format("{} with errors {} skipped: {}{}{}",
                        count == 1 ? "a " + word.substr(0, word.size() - 1) : fmt::format("{} {}", count, word),
                        count == 1 ? "is" : "are", count == 1 ? "" : "the last one ", last,
                        listed_in.empty() ? "" : "; all are listed in " + listed_in));
}

}  // namespace dptrain::session
