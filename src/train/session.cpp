#include "train/session.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/pixel_program.h"
#include "device/pixel_pass.h"
#include "train/class_weights.h"
#include "train/dry_plan.h"

namespace dptrain::train {
namespace {

/// A data set, and what makes batches of it, may take one part in so many of the memory that a GPU has free when it comes.
constexpr std::uint64_t kRoomPart = 4;

/// At most so many bytes for each row of a batch are needed to make it on a device: two sets of what arrives, draws, and
/// images between transforms.
std::uint64_t working_bytes(const kernels::PixelProgram& program, std::size_t row_bytes) {
  constexpr std::uint64_t kSets = 2, kNumbers = 512;
  std::int64_t elements = program.in_elements();
  for (int k = 0; k < program.count; ++k)
    elements = std::max(elements, std::int64_t{program.op[k].height} * program.op[k].width * program.channels);
  return kSets * (row_bytes + static_cast<std::uint64_t>(elements) * sizeof(float)) + kNumbers;
}

bool is_crossentropy(const config::Typed& loss) {
  return loss.get_if<optim::CategoricalCrossentropySpec>() != nullptr ||
         loss.get_if<optim::SparseCategoricalCrossentropySpec>() != nullptr;
}

/// Integer labels stay integers for crossentropy over classes; everything else gets rows of floats.
optim::LabelKind label_kind(const config::Typed& loss, const data::Source& source) {
  if (!is_crossentropy(loss)) return optim::LabelKind::kDense;
  if (source.label_type() == data::LabelType::kClass) return optim::LabelKind::kClass;
  if (loss.get_if<optim::SparseCategoricalCrossentropySpec>() != nullptr && source.label_width() == 1)
    throw Error(ErrorKind::kData, "sparse_categorical_crossentropy wants integer labels, the data set has floats");
  return optim::LabelKind::kDense;
}

std::vector<config::Typed> plain(const auto& list) { return {list.begin(), list.end()}; }

}  // namespace

Session::Session(const Experiment& experiment, const SessionOptions& options)
    : experiment_(experiment), devices_(with_threads(options.devices)), phase_started_(now_seconds()) {
  if (!devices_.paper.empty())
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is a GPU on paper, for summary --plan and check; nothing runs on it", devices_.paper));
  Devices devices = make_devices(devices_, runtime_options(experiment_.config));
  for (const auto& device : devices) device_lines_.push_back(device->description());
  batch_memory_ = devices.front()->host_allocator();
  done("devices");
  const std::vector<double>& weights = experiment_.config.parallel.split.weights;
  if (!weights.empty() && static_cast<int>(weights.size()) != devices_.replicas)
    throw Error(ErrorKind::kUsage,
                fmt::format("split has {} weights, there are {} replicas", weights.size(), devices_.replicas));
  const TrainSection& train = experiment_.config.train;
  global_batch_ = options.global_batch ? *options.global_batch
                  : train.batch_size || train.batch_size_per_replica || options.training
                      ? train::global_batch(train, devices_.replicas)
                      : 128;
  model_ = std::make_unique<graph::Model>(graph::make_model(experiment_.graph, experiment_.config.seed));
  done("initialise weights");
  if (options.read_weights && experiment_.graph.weights) {
    weights_report_ = checkpoint::load_weights(*experiment_.graph.weights, *model_);
    done("read weights");
  }
  labels_wanted_ = options.wants_data && static_cast<bool>(train.loss);
  loader_only_ = options.loader_only;
  if (options.wants_data) open_data(options);
  if (loader_only_) return;
  decide_prefix(options);
  make_plan(options, *devices.front());
  make_replicas(options, std::move(devices));
  feed_devices(options);
  if (options.training) {
    rate_factor_ = train::rate_factor(train, global_batch_);
    rate_ = optim::make_rate(optim::common(train.optimizer).learning_rate, steps_per_epoch(), global_batch_);
  }
}

Session::~Session() = default;

void Session::done(const std::string& phase) {
  const double now = now_seconds();
  phases_.emplace_back(phase, now - phase_started_);
  phase_started_ = now;
}

data::ModelSide Session::model_side() const {
  data::ModelSide side;
  const graph::Graph& graph = model_->graph;
  for (const int input : graph.inputs) {
    const graph::Node& node = graph.nodes[static_cast<std::size_t>(input)];
    side.input_names.push_back(node.name);
    side.input_shapes.push_back(node.output);
  }
  side.output = graph.nodes[static_cast<std::size_t>(graph.outputs.front())].output;
  side.pixels = data::expect_pixels(plain(experiment_.config.data.transforms.train));
  return side;
}

void Session::open_data(const SessionOptions& options) {
  const DataSection& section = experiment_.config.data;
  data::DatasetConfig datasets;
  // A Split of train needs train, whoever asks.
  datasets.train = section.train;
  if (options.wants_validation) datasets.validation = section.validation;
  if (options.wants_test) datasets.test = section.test;
  if (options.data == DataMode::kSynthetic) {
    sources_ = data::synthetic_sources(datasets, model_side(), experiment_.config.seed);
  } else {
    if (options.wants_train && !datasets.train)
      throw Error(ErrorKind::kUsage,
                  fmt::format("{}: no data.train; add a data set, or give --data synthetic", experiment_.file));
    if (!options.wants_train && !needs_train(datasets)) datasets.train = {};
    sources_ = data::open_sources(datasets, model_side(), experiment_.config.seed);
  }
  const data::Source* any = sources_.train        ? sources_.train.get()
                            : sources_.validation ? sources_.validation.get()
                                                  : sources_.test.get();
  if (any != nullptr) {
    if (labels_wanted_) label_kind_ = label_kind(experiment_.config.train.loss, *any);
    class_names_ = any->class_names();
  }
  resolve_class_weights(options);
  const auto in_order = [](const char* name) { return LoaderPlan{.name = name, .evaluation = true, .in_order = true}; };
  if (options.training)
    train_ = make_loader(sources_.train, {.name = "train"});
  else if (options.wants_train)
    train_ = make_loader(sources_.train, in_order("train-eval"));
  if (sources_.validation) validation_ = make_loader(sources_.validation, in_order("validation"));
  if (sources_.test) test_ = make_loader(sources_.test, in_order("test"));
  done("open data");
}

std::unique_ptr<data::Loader> Session::make_loader(const std::shared_ptr<const data::Source>& source,
                                                   const LoaderPlan& plan) const {
  const DataSection& section = experiment_.config.data;
  data::LoaderOptions options;
  options.batch_size = global_batch_;
  options.shuffle = plan.in_order ? data::Shuffle{data::Shuffle::Kind::kNone, 0} : section.loader.shuffle;
  options.seed = experiment_.config.seed;
  options.workers = section.loader.workers.value.value_or(0);
  options.prefetch = section.loader.prefetch.value.value_or(0);
  options.alone = loader_only_;
  options.busy_threads = devices_.replicas * devices_.threads;
  options.allocate = batch_memory_;
  options.delivery = plan.delivery;
  options.feed = plan.feed;
  data::ModelSide side = model_side();
  const data::LabelDelivery labels{labels_wanted_ && plan.labels, label_kind_, side.output.elements()};
  if (!plan.features) {
    data::Pipeline pipeline(plain(plan.evaluation ? section.transforms.eval : section.transforms.train),
                            plan.evaluation);
    auto [samples, rest] = data::cached(source, std::move(pipeline), section.loader.cache, plan.name);
    return std::make_unique<data::Loader>(std::move(samples), std::move(rest), side, labels, options);
  }
  side.input_names.clear();
  side.input_shapes.clear();
  for (const data::FeatureInput& input : border_inputs(model_->graph, cache_.prefix)) {
    side.input_names.push_back(input.name);
    side.input_shapes.push_back(input.shape);
  }
  return std::make_unique<data::Loader>(source, data::Pipeline(), side, labels, options);
}

/// Only training knows class weights.
void Session::resolve_class_weights(const SessionOptions& options) {
  const std::optional<ClassWeight>& wish = experiment_.config.train.class_weight;
  if (!wish || !options.training || !labels_wanted_ || !sources_.train) return;
  class_weights_ = class_weights(*wish, {.labels = *sources_.train,
                                         .outputs = model_side().output.elements(),
                                         .synthetic = options.data == DataMode::kSynthetic});
}

std::string Session::class_weights_line() const {
  return class_weights_.empty() ? "" : describe_class_weights(*experiment_.config.train.class_weight, class_weights_, class_names_);
}

double Session::planned_epochs(const SessionOptions& options) const {
  const TrainSection& train = experiment_.config.train;
  const bool flags = options.epochs || options.steps;
  const auto epochs = flags ? options.epochs : train.epochs;
  const auto steps = flags ? options.steps : train.steps;
  if (epochs) return static_cast<double>(*epochs);
  return static_cast<double>(steps.value_or(0)) / static_cast<double>(steps_per_epoch());
}

void Session::decide_prefix(const SessionOptions& options) {
  if (!options.may_cache_prefix || !options.training) return;
  cache_ = decide_cache(
      experiment_.config, *model_,
      {.samples = prefix_samples(), .epochs = planned_epochs(options), .free_memory = device::cpu_memory_available()});
}

std::int64_t Session::prefix_samples() const {
  std::int64_t samples = 0;
  for (const data::Loader* loader : {train_.get(), validation_.get(), test_.get()})
    samples += loader == nullptr ? 0 : loader->samples();
  return samples;
}

bool Session::compute_features(const std::function<bool(std::int64_t done)>& go_on) {
  struct Role {
    std::shared_ptr<const data::Source>& source;
    std::unique_ptr<data::Loader>& loader;
    const char* name;
    bool evaluation;
  };
  std::vector<Role> roles{{sources_.train, train_, "train", false}};
  if (sources_.validation) roles.push_back({sources_.validation, validation_, "validation", true});
  if (sources_.test) roles.push_back({sources_.test, test_, "test", true});
  std::vector<FeatureJob> jobs;
  for (const Role& role : roles) {
    role.loader.reset();
    jobs.push_back(
        {role.source,
         make_loader(role.source,
                     {.name = role.name, .evaluation = role.evaluation, .in_order = true, .labels = false})});
  }
  const auto features =
      train::compute_features(experiment_, *model_, devices_, cache_, global_batch_, std::move(jobs), go_on);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const auto& source = features ? (*features)[i] : roles[i].source;
    roles[i].loader = make_loader(source, {.name = roles[i].name,
                                           .evaluation = roles[i].evaluation,
                                           .in_order = roles[i].evaluation,
                                           .features = features.has_value()});
  }
  return features.has_value();
}

void Session::make_plan(const SessionOptions& options, const device::Device& device) {
  const ConfigFile& config = experiment_.config;
  plan::PlanOptions plan_options;
  if (labels_wanted_) {
    plan_options.loss = config.train.loss;
    plan_options.metrics = plain(config.train.metrics);
    plan_options.class_weights = class_weights_;
    plan_options.labels = label_kind_;
  }
  plan_options.bucket_bytes = config.parallel.bucket_size.bytes;
  plan_options.compute = compute_type(config.train.dtype_policy);
  if (cache_.on) {
    plan_options.part = plan::Part::kHead;
    plan_options.border = cache_.prefix.border;
  }
  plan_options.sync_batchnorm = config.parallel.sync_batchnorm || options.force_sync_batchnorm;
  plan_ = std::make_unique<plan::Plan>(plan::make_plan(*model_, plan_options, device));
  done("plan");
}

void Session::make_replicas(const SessionOptions& options, Devices devices) try {
  const ConfigFile& config = experiment_.config;
  replica::SetOptions set;
  set.weights = split_weights();
  set.accumulate_steps = options.training ? config.train.accumulate_steps : 1;
  set.batch_sizes = {global_batch_};
  for (const data::Loader* loader : {train_.get(), validation_.get(), test_.get()})
    if (loader != nullptr && loader->samples() % global_batch_ != 0)
      set.batch_sizes.push_back(loader->samples() % global_batch_);
  if (options.foreign_samples % global_batch_ != 0) set.batch_sizes.push_back(options.foreign_samples % global_batch_);
  if (options.training) set.optimizer = config.train.optimizer;
  set.seed = config.seed;
  set.graphs = config.runtime.cuda_graphs;
  if (config.parallel.check_replicas && options.training)
    set.check_every = config.parallel.check_replicas->steps(steps_per_epoch(), global_batch_);
  connector_ = make_connector(devices_, config.parallel, config.runtime.deterministic);
  replicas_ = std::make_unique<replica::ReplicaSet>(*plan_, std::move(devices), *connector_, std::move(set));
  replicas_->push(*model_);
  done("replicas");
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kMemory) throw;
  replicas_.reset();  // what they have taken is free again for the advice
  connector_.reset();
  throw Error(ErrorKind::kMemory,
              error.what() + memory_advice(experiment_, devices_, {global_batch_, options.training}));
}

/// Data sets that lie in memory, whose transforms the device knows, are handed over to it: the loader only says which
/// samples a batch has, or brings them as they are.
void Session::feed_devices(const SessionOptions& options) {
  if (!options.device_input || cache_.on || experiment_.config.runtime.resident == Resident::kOff) return;
  if (!device::has_pixel_pass(replicas_->device(0).kind())) return;
  const auto feed = [&](const char* role, const std::shared_ptr<const data::Source>& source,
                        std::unique_ptr<data::Loader>& loader, bool evaluation) {
    if (!loader) return;
    if (auto fed = fed_loader(role, source, *loader, evaluation)) loader = std::move(fed);
  };
  feed("train", sources_.train, train_, !options.training);
  feed("validation", sources_.validation, validation_, true);
  feed("test", sources_.test, test_, true);
  done("data to device");
}

/// Null where the loader has to go on making the batches.
std::unique_ptr<data::Loader> Session::fed_loader(const std::string& role, const std::shared_ptr<const data::Source>& source,
                                                  const data::Loader& loader, bool evaluation) {
  if (source->u8_rows(0) == nullptr && source->f32_rows(0) == nullptr) return nullptr;
  const DataSection& section = experiment_.config.data;
  const std::vector<config::Typed> transforms = plain(evaluation ? section.transforms.eval : section.transforms.train);
  replica::Feed feed{.samples = source->size()};
  std::uint64_t bytes = 0, per_row = 0;
  for (const data::RowsInMemory& rows : loader.rows_in_memory()) {
    const auto program = data::pixel_program(transforms, rows.sample, experiment_.config.seed);
    if (!program) return nullptr;
    feed.inputs.push_back({.program = *program, .type = rows.type, .rows = rows.rows, .row = [source](std::int64_t sample) {
                             return source->row(sample);
                           }});
    bytes += static_cast<std::uint64_t>(source->size()) * rows.row_bytes();
    per_row += working_bytes(*program, rows.row_bytes());
  }
  if (feed.inputs.empty()) return nullptr;
  // All replicas of a GPU take from the same memory.
  const auto sharing = static_cast<std::uint64_t>(std::ranges::count(devices_.gpus, devices_.gpus.front()));
  const std::uint64_t room = replicas_->device(0).memory_available() / kRoomPart / sharing;
  const std::uint64_t working = static_cast<std::uint64_t>(global_batch_) * per_row;
  if (working > room) return nullptr;
  feed.resident = bytes + working <= room;
  const int number = static_cast<int>(device_inputs_.size());
  try {
    replicas_->add_feed(number, feed);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMemory) throw;
    throw Error(ErrorKind::kMemory, fmt::format("{}; runtime.resident: off leaves data.{} to the loader", error.what(), role));
  }
  device_inputs_.push_back(feed.resident ? fmt::format("{} resident ({})", role, human_bytes(bytes)) : role + " uploaded as it is");
  return make_loader(source, {.name = role,
                              .evaluation = evaluation,
                              .in_order = evaluation,
                              .delivery = feed.resident ? data::Delivery::kSamples : data::Delivery::kRows,
                              .feed = number});
}

std::int64_t Session::steps_per_epoch() const { return train_ ? train_->batches_per_epoch() : 1; }

double Session::scheduled_rate(std::int64_t step) const { return rate_(step) * rate_factor_; }

std::string Session::data_fingerprint() const { return sources_.train ? sources_.train->fingerprint() : ""; }

/// Of the data sets; a Split shares that of the set it is part of.
std::vector<std::shared_ptr<data::BadSamples>> Session::accounts() const {
  std::vector<std::shared_ptr<data::BadSamples>> found;
  for (const auto& source : {sources_.train, sources_.validation, sources_.test}) {
    const auto account = source ? source->bad_samples() : nullptr;
    if (account && std::find(found.begin(), found.end(), account) == found.end()) found.push_back(account);
  }
  return found;
}

void Session::on_bad_sample(const std::function<void(const data::BadSample&)>& listener) {
  for (const auto& account : accounts()) account->listen(listener);
}

void Session::warn_about_bad_samples(const std::string& listed_in) {
  std::size_t count = 0;
  std::string last;
  for (const auto& account : accounts()) {
    count += account->all().size();
    if (!account->all().empty()) last = account->all().back().str();
  }
  if (count == bad_samples_told_) return;
  bad_samples_told_ = count;
  log::warn(fmt::format("{} cannot be read and {} left out: {}{}{}",
                        count == 1 ? "a file" : fmt::format("{} files", count), count == 1 ? "is" : "are",
                        count == 1 ? "" : "the last one ", last,
                        listed_in.empty() ? "" : "; all are listed in " + listed_in));
}

std::vector<double> Session::split_weights() const {
  const std::vector<double>& weights = experiment_.config.parallel.split.weights;
  return weights.empty() ? std::vector<double>(static_cast<std::size_t>(devices_.replicas), 1.0) : weights;
}

bool needs_train(const data::DatasetConfig& datasets) {
  for (const config::Typed* set : {&datasets.validation, &datasets.test})
    if (*set)
      if (const auto* split = set->get_if<data::SplitSpec>(); split != nullptr && split->of == "train") return true;
  return false;
}

std::vector<std::string> sum_names(const plan::Plan& plan) {
  std::vector<std::string> names{"loss"};
  for (const optim::ResolvedMetric& metric : plan.loss.metrics) names.push_back(metric.name);
  return names;
}

std::vector<std::pair<std::string, double>> means(const plan::Plan& plan, const replica::StepSums& sums) {
  const double n = static_cast<double>(std::max<std::int64_t>(1, sums.samples));
  std::vector<std::pair<std::string, double>> out{{"loss", sums.loss / n + sums.penalty}};
  for (std::size_t i = 0; i < plan.loss.metrics.size(); ++i)
    out.emplace_back(plan.loss.metrics[i].name, sums.metrics[i] / n);
  return out;
}

replica::HostBatch host_batch(const data::Batch& batch, std::size_t inputs) {
  replica::HostBatch host{.rows = batch.rows(), .labels = batch.labels(), .feed = batch.feed(), .epoch = batch.epoch(), .samples = batch.samples()};
  for (std::size_t i = 0; i < inputs; ++i) {
    const int input = static_cast<int>(i);
    if (batch.feed() < 0) {
      host.inputs.push_back(batch.input(input));
    } else if (batch.row_bytes(input) > 0) {
      host.raw.push_back(batch.row(input));
      host.raw_row_bytes.push_back(batch.row_bytes(input));
    }
  }
  return host;
}

replica::StepSums evaluate(Session& session, data::Loader& loader) {
  replica::StepSums total;
  total.metrics.assign(session.plan().loss.metrics.size(), 0.0);
  const std::size_t inputs = session.plan().inputs.size();
  for (data::Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    const replica::StepSums sums = session.replicas().evaluate(host_batch(batch, inputs));
    total.loss += sums.loss;
    total.samples += sums.samples;
    total.penalty = sums.penalty;  // of the same weights every time
    for (std::size_t i = 0; i < total.metrics.size(); ++i) total.metrics[i] += sums.metrics[i];
  }
  loader.next_epoch();  // its first batches are made while training goes on
  return total;
}

}  // namespace dptrain::train
