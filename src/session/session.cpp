#include "session/session.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "config/config_loader.h"
#include "config/diagnostics.h"
#include "core/activity.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/log.h"
#include "experiment/goal.h"
#include "nn/optimizer.h"
#include "runtime/replica.h"
#include "session/conv_cache.h"
#include "session/device_datasets.h"
#include "session/dry_plan.h"
#include "session/environment.h"
#include "session/slots.h"

namespace dptrain::session {

Session::Session(const experiment::Experiment& experiment, const SessionOptions& options)
    : experiment_(experiment),
      processes_(options.processes),
      sharers_(processes_on_these_cores(processes_)),
      devices_(with_threads(place_slots(options.devices, experiment_.graph), sharers_)),
      phase_started_(now_seconds()) {
  if (!devices_.plan_only_gpu.empty())
    throw Error(ErrorKind::kUsage, fmt::format("{} is a GPU on paper, for summary --plan and check; nothing runs on it",
                                               devices_.plan_only_gpu));
  if (!devices_.cpus.empty() && sharers_ > 1)
    throw Error(ErrorKind::kUsage, fmt::format("--cpus auto uses all cores, but {} processes share them; let the "
                                               "launcher bind each process to its own cores, or give --cpus NxT",
                                               sharers_));
  if (options.read_weights) require_weights_file(experiment_);
  conv_choices_ = open_conv_choices(experiment_.config.runtime, devices_);
  Devices devices = make_devices(devices_, runtime_options(experiment_.config, conv_choices_, options.training));
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (i % static_cast<std::size_t>(devices_.slots) == 0)
      device_lines_.push_back(devices[i]->description());
    else
      device_lines_.back() += " + " + devices[i]->description();
  done("devices");
  join_processes(options);
  const std::vector<double>& weights = experiment_.config.parallel.split.weights;
  if (!weights.empty() && static_cast<int>(weights.size()) != world_.ranks)
    throw Error(ErrorKind::kUsage,
                fmt::format("split has {} weights, there are {} replicas", weights.size(), world_.ranks));
  virtual_shards(experiment_.config.parallel, world_.ranks);  // throws before data are read, as the next check does
  check_allreduce_dtype(devices_, experiment_.config.parallel, world_.ranks);
  if (experiment_.config.parallel.split.automatic && devices_.on_gpus())
    throw Error(ErrorKind::kUsage,
                "parallel.split: auto measures the time that a replica's thread computes, but a GPU's thread only "
                "waits; give weights, as in [2, 1]");
  const experiment::TrainSection& train = experiment_.config.train;
  global_batch_ = options.global_batch ? *options.global_batch
                  : train.batch_size || train.batch_size_per_replica || options.training
                      ? experiment::global_batch(train, world_.ranks)
                      : 128;
  if (experiment_.config.parallel.split.automatic && options.training && world_.ranks > 1)
    balance_ =
        std::make_shared<runtime::Balance>(runtime::BalanceOptions{.ranks = world_.ranks, .batch = global_batch_});
  model_ = std::make_unique<graph::Model>(graph::undrawn_model(experiment_.graph, experiment_.config.seed));
  if (options.read_weights && experiment_.graph.weights) {
    const Activity activity("reading weights");
    weights_report_ = formats::load_weights(*experiment_.graph.weights, *model_);
    done("read weights");
  }
  {
    const Activity activity("opening the data");
    data_ = std::make_unique<SessionData>(experiment_, model_->graph, options, data_setting(*devices.front()));
  }
  require_equal(processes_, {{"the data", data_->facts()}}, ErrorKind::kData);
  if (options.wants_data) done("open data");
  if (options.loader_only) return;
  start_balance();
  decide_prefix(options);
  make_plan(options, *devices.front());
  make_replicas(options, std::move(devices));
  if (options.device_datasets && !cache_.on) {
    device_datasets_ = add_device_datasets(experiment_, devices_, global_batch_, *data_, *replicas_);
    if (!device_datasets_.empty()) done("data to device");
  }
  if (options.training) {
    rate_factor_ = experiment::rate_factor(train, global_batch_);
    rate_ = nn::make_rate(nn::common(train.optimizer).learning_rate, steps_per_epoch(), global_batch_);
  }
}

Session::~Session() = default;

/// Assigns the ranks, and checks that all processes run the same build, settings, goal and kind of devices.
void Session::join_processes(const SessionOptions& options) {
  if (processes_ != nullptr) processes_->set_silence(experiment_.config.parallel.watchdog.value);
  rank_layout_ = make_rank_layout(processes_, devices_.replicas);
  world_ = world_of(rank_layout_);
  const BuildInfo build = build_info();
  const std::string goal = fmt::format("epochs {} steps {}", options.epochs.value_or(-1), options.steps.value_or(-1));
  require_equal(processes_,
                {{"the builds of dptrain", fmt::format("{} {} {}", build.version, build.commit, build.build_type)},
                 {"the settings", config::to_yaml(experiment::resolved(experiment_))},
                 {"the goals", goal},
                 {"the devices", devices_.on_gpus() ? "GPUs" : "CPUs"}},
                ErrorKind::kUsage);
}

void Session::done(const std::string& phase) {
  const double now = now_seconds();
  phases_.emplace_back(phase, now - phase_started_);
  phase_started_ = now;
}

void Session::decide_prefix(const SessionOptions& options) {
  if (!options.may_cache_prefix || !options.training) return;
  if (processes_ != nullptr) return decide_prefix_for_several();
  const experiment::Goal goal = experiment::Goal::of(experiment_.config.train, options.epochs, options.steps);
  cache_ = decide_cache(experiment_.config, *model_,
                        {.samples = data_->samples(),
                         .epochs = goal.in_epochs(steps_per_epoch()),
                         .free_memory = backend::cpu_memory_available(),
                         .data_draws = data_->draws()});
}

void Session::share_batches(data::LoaderOptions& options) const {
  if (processes_ == nullptr) return;
  options.agree = agree_on_bad(*processes_);
  if (options.sets_number && balance_) {
    options.max_share = devices_.replicas * balance_->max_rows();
    options.share = [world = world_, local_ranks = devices_.replicas, balance = balance_](std::int64_t positions,
                                                                                          std::int64_t number) {
      return runtime::share_of(world, local_ranks, balance->weights_at(number), positions);
    };
    return;
  }
  options.share = [world = world_, local_ranks = devices_.replicas, weights = split_weights(),
                   shards = virtual_shards(experiment_.config.parallel, world_.ranks)](std::int64_t positions,
                                                                                       std::int64_t) {
    return runtime::share_of(world, local_ranks, weights, positions, shards);
  };
}

/// New shares apply from a batch that no loader has begun.
void Session::start_balance() {
  constexpr std::int64_t kInFlight = 2;
  if (!balance_ || processes_ == nullptr) return;
  std::int64_t most = 0;
  for (const std::string& of_one : processes_->gather(std::to_string(train_loader().prefetch())))
    most = std::max<std::int64_t>(most, std::stoll(of_one));
  balance_->set_ahead(most + kInFlight);
}

SessionData::Setting Session::data_setting(backend::Device& device) const {
  return {.global_batch = global_batch_,
          .busy_threads = devices_.replicas * devices_.threads * sharers_,
          .allocate = device.host_allocator(),
          .share_batches = [this](data::LoaderOptions& options) { share_batches(options); },
          .processes_here = processes_here(processes_)};
}

/// Throws if the config requires the cache: every process would have to compute the features of all samples.
void Session::decide_prefix_for_several() {
  using Kind = experiment::CachePrefix::Kind;
  const Kind kind = experiment_.config.runtime.cache_frozen_prefix.kind;
  if (kind == Kind::kMemory || kind == Kind::kDisk)
    throw Error(ErrorKind::kUsage,
                "runtime.cache_frozen_prefix: features can be cached only in runs of one process; remove the key, "
                "so that the frozen layers run in every step");
}

void Session::make_plan(const SessionOptions& options, const backend::Device& device) {
  const experiment::ConfigFile& config = experiment_.config;
  plan::PlanOptions plan_options;
  plan_options.objectives = data_->objectives();
  plan_options.bucket_bytes = bucket_bytes(config.parallel, devices_);
  plan_options.compute = compute_type(config.train.dtype_policy, devices_);
  const bool sharded = config.parallel.virtual_shards.has_value();
  if (options.training && !sharded) plan_options.tables_from = tables_from(config.train, devices_);
  if (cache_.on) {
    plan_options.part = plan::Part::kHead;
    plan_options.border = cache_.prefix.border;
  }
  if (!options.outputs.empty()) {
    plan_options.part = plan::Part::kPrefix;
    plan_options.border = options.outputs;
  }
  plan_options.slots = devices_.placement;
  plan_options.sync_batchnorm = config.parallel.sync_batchnorm || (options.force_sync_batchnorm && !sharded);
  plan_ = std::make_unique<plan::Plan>(plan::make_plan(*model_, plan_options, device));
  done("plan");
}

void Session::make_replicas(const SessionOptions& options, Devices devices) try {
  const experiment::ConfigFile& config = experiment_.config;
  const Activity activity(replica_count() == 1 ? "preparing the replica"
                                               : fmt::format("preparing {} replicas", replica_count()));
  runtime::SetOptions set;
  set.world = world_;
  set.weights = split_weights();
  set.balance = balance_;
  if (options.training) {
    const std::vector<std::int64_t> shares = runtime::split_rows(global_batch_, split_weights());
    micro_batches_ = session::micro_batches(config, *plan_, devices_, sharers_, std::ranges::max(shares));
  }
  if (config.train.accumulate_steps.value_or(1) > 1 && !plan::rows_are_independent(*plan_))
    log::warn(
        fmt::format("train.accumulate_steps: {} micro-batches change the update: BatchNormalization, or a loss with a "
                    "mask, computes its mean per micro-batch",
                    micro_batches_));
  set.accumulate_steps = micro_batches_;
  set.virtual_shards = virtual_shards(config.parallel, world_.ranks);
  set.batch_sizes = {global_batch_};
  for (const SessionData::Set& one : data_->sets())
    if (one.loader->samples() % global_batch_ != 0) set.batch_sizes.push_back(one.loader->samples() % global_batch_);
  if (options.foreign_samples % global_batch_ != 0) set.batch_sizes.push_back(options.foreign_samples % global_batch_);
  if (options.training) set.optimizer = config.train.optimizer;
  set.continue_after_nonfinite = config.train.on_nonfinite.get_if<experiment::SkipStepSpec>() != nullptr;
  set.seed = config.seed;
  set.graphs = runtime::graphs_for(config.runtime.cuda_graphs, world_.ranks);
  set.timeouts = {.seconds = config.parallel.watchdog.value, .first_seconds = options.first_step_seconds};
  if (config.parallel.check_replicas && options.training)
    set.check_every = config.parallel.check_replicas->steps(steps_per_epoch(), global_batch_);
  connector_ = processes_ == nullptr
                   ? make_connector(devices_, config.parallel, config.runtime.deterministic)
                   : make_connector(devices_, config.parallel, config.runtime.deterministic, rank_layout_, *processes_);
  replicas_ = std::make_unique<runtime::ReplicaSet>(*plan_, std::move(devices), *connector_, std::move(set));
  require_equal(processes_, {{"the weights", checksum_of(*model_)}}, ErrorKind::kCheckpoint);
  replicas_->push(*model_);
  done("replicas");
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kMemory) throw;
  replicas_.reset();  // free their memory before the advice
  connector_.reset();
  throw Error(ErrorKind::kMemory,
              error.what() + memory_advice(experiment_, devices_, {global_batch_, options.training, conv_choices_}));
}

bool Session::compute_features(const std::function<bool(std::int64_t done)>& should_continue) {
  const auto features = session::compute_features(experiment_, *model_, devices_, conv_choices_, cache_, global_batch_,
                                                  data_->feature_jobs(), should_continue);
  data_->set_features(features, border_inputs(model_->graph, cache_.prefix));
  return features.has_value();
}

std::int64_t Session::steps_per_epoch() const {
  const data::Loader* const train = data_->loader("train");
  return train != nullptr ? train->batches_per_epoch() : 1;
}

double Session::scheduled_rate(const nn::Progress& progress) const { return rate_(progress) * rate_factor_; }

std::vector<double> Session::split_weights() const {
  const std::vector<double>& weights = experiment_.config.parallel.split.weights;
  return weights.empty() ? std::vector<double>(static_cast<std::size_t>(world_.ranks), 1.0) : weights;
}

namespace {

namespace fs = std::filesystem;

std::string what_to_try(const std::string& file) {
  const std::string near = missing_file_advice(file);
  return near.empty() ? "; give a .h5 or .keras file of Keras, or a checkpoint" : near;
}

}  // namespace

void require_weights_file(const experiment::Experiment& experiment) {
  if (!experiment.graph.weights) return;
  const fs::path file = experiment.graph.weights->file.value;
  std::error_code error;
  config::Diagnostics diagnostics;
  if (!fs::exists(file, error))
    diagnostics.error(experiment.weights_place,
                      fmt::format("model.weights: no such file '{}'{}", file.string(), what_to_try(file.string())));
  else if (fs::is_directory(file, error))
    diagnostics.error(
        experiment.weights_place,
        fmt::format("model.weights: '{}' is a folder, expected a .h5 or .keras file of Keras, or a checkpoint",
                    file.string()));
  diagnostics.throw_if_errors();
}

}  // namespace dptrain::session
