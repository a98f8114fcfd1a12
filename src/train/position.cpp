#include "train/position.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "config/node.h"
#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/log.h"
#include "core/text.h"
#include "data/sources/csv_layout.h"
#include "nn/optimizer.h"
#include "session/conv_cache.h"
#include "session/session.h"
#include "train/saved_state.h"

namespace dptrain::train {
namespace {

using nlohmann::json;

/// Names of the flat state arrays: the optimizer's slots, and "average" with use_ema.
std::vector<std::string> state_names(const config::Typed& optimizer) {
  std::vector<std::string> names;
  for (const nn::SlotDef& slot : nn::slots(optimizer)) names.push_back(slot.name);
  if (nn::common(optimizer).use_ema) names.emplace_back("average");
  return names;
}

const config::Typed& optimizer_of(const session::Session& session) {
  return session.experiment().config.train.optimizer;
}

/// Calls f(parameter, begin of its range) for every trainable parameter.
template <class F>
void for_trainable(const plan::Plan& plan, const F& f) {
  for (const plan::Parameter& parameter : plan.parameters)
    if (plan::is_trained(parameter.kind)) f(parameter, plan.slot_offset(parameter));
}

std::string saved_name(std::size_t callback, const std::string& weight) {
  return fmt::format("callback{}/{}", callback, weight);
}

/// Meanings of the plan's sums, one line per loss and metric. Saved sums with other meanings are discarded.
std::vector<std::string> meanings(const plan::Plan& plan) {
  std::vector<std::string> all;
  for (const plan::LossStep& loss : plan.losses) {
    all.push_back(loss.name);
    for (const nn::ResolvedMetric& metric : loss.metrics)
      all.push_back(json::parse(config::to_json(metric.metric.write())).dump());
  }
  return all;
}

json sums_json(const runtime::StepSums& sums, const plan::Plan& plan) {
  return {{"loss", sums.loss}, {"outputs", sums.outputs}, {"samples", sums.samples}, {"meanings", meanings(plan)}};
}

/// Older checkpoints with one output have `metrics` instead of `outputs`.
void restore_output_sums(const json& saved, runtime::StepSums& sums) {
  if (!saved.contains("outputs")) sums.outputs.push_back(sums.loss);
  for (const json& sum : saved.contains("outputs") ? saved["outputs"] : saved.at("metrics"))
    sums.outputs.push_back(saved_number(sum));
}

json validation_json(const Position& position) {
  return {{"step", position.validated_step},
          {"logs", logs_json(position.validated)},
          {"seconds", position.validation_seconds}};
}

void restore_validation(const json& saved, Position& position) {
  position.validated_step = saved_count(saved, "step");
  position.validated = saved_logs(saved.at("logs"));
  position.validation_seconds = saved.at("seconds").get<double>();
}

/// If the plan's metrics differ from the checkpoint's, the epoch's values cover only the rest of the epoch.
void begin_other_sums(const json& saved, const plan::Plan& plan, runtime::StepSums& sums) {
  const bool same = !saved.contains("meanings") || saved["meanings"].get<std::vector<std::string>>() == meanings(plan);
  if (same && sums.outputs.size() == plan.sums()) return;
  if (sums.samples > 0)
    log::warn(
        fmt::format("the metrics differ from those of the checkpoint: this epoch's values exclude its first {} samples",
                    sums.samples));
  sums = {};
  sums.outputs.assign(plan.sums(), 0.0);
}

void save_slots(session::Session& session, formats::CheckpointState& state) {
  const std::vector<std::string> names = state_names(optimizer_of(session));
  std::vector<std::vector<float>> flat = session.replicas().pull_state();
  for (std::size_t s = 0; s < names.size(); ++s) {
    for_trainable(session.plan(), [&](const plan::Parameter& parameter, std::int64_t begin) {
      const auto first = flat[s].begin() + begin;
      state.arrays.push_back({names[s] + "/" + parameter.path, parameter.shape, {first, first + parameter.elements()}});
    });
    flat[s] = {};  // as large as all weights
  }
}

using Arrays = std::vector<formats::NamedArray>;

const formats::NamedArray& array(const Arrays& arrays, const std::string& name) {
  const auto found = std::ranges::find(arrays, name, &formats::NamedArray::name);
  if (found == arrays.end())
    throw Error(
        ErrorKind::kCheckpoint,
        fmt::format("the checkpoint has no optimizer state '{}'; it was written with another optimizer or model. "
                    "--init-from starts from its weights alone",
                    name));
  return *found;
}

void restore_slots(const Arrays& arrays, session::Session& session) {
  const std::vector<std::string> names = state_names(optimizer_of(session));
  std::vector<std::vector<float>> flat;
  for (const std::string& name : names) {
    flat.emplace_back(static_cast<std::size_t>(session.plan().slot_floats()), 0.0F);
    for_trainable(session.plan(), [&](const plan::Parameter& parameter, std::int64_t begin) {
      const std::vector<float>& values = array(arrays, name + "/" + parameter.path).values;
      if (static_cast<std::int64_t>(values.size()) != parameter.elements())
        throw Error(ErrorKind::kCheckpoint, fmt::format("optimizer state '{}/{}' has {} elements, the model needs {}",
                                                        name, parameter.path, values.size(), parameter.elements()));
      std::copy(values.begin(), values.end(), flat.back().begin() + begin);
    });
  }
  session.replicas().push_state(flat);
}

/// Without mixed_float16 the scale has no effect: the resumed run may use another policy.
void restore_loss_scale(const json& saved, session::Session& session) {
  kernels::LossScale scale;
  scale.scale = saved.at("scale").get<float>();
  scale.good_steps = saved.at("good_steps").get<std::int32_t>();
  scale.skipped = saved_count(saved, "skipped");
  session.replicas().push_loss_scale(scale);
}

/// With another seed, samples would be repeated or skipped, and validation samples of Splits trained on.
void compare_data(const json& trainer, const session::Session& session) {
  const std::uint64_t seed = session.experiment().config.seed;
  if (const auto before = trainer.value("seed", seed); before != seed)
    throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint was trained with seed {}, this run has {}; give "
                                                    "--seed {}, or start from its weights with --init-from",
                                                    before, seed, before));
  const std::string data = session.data_fingerprint();
  if (const auto before = trainer.value("data", data); before != data)
    log::warn(fmt::format("the training data have changed since the checkpoint (were {}, now {})", before, data));
}

/// Labels are class indices: other classes, or another order, would change their meaning.
void compare_classes(const ClassNames& before, const ClassNames& now) {
  if (!before.differs_from(now)) return;
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("the checkpoint was trained on the classes {}, the data set has {}; give the data set the "
                          "same class_names, or start from the weights with --init-from",
                          before.text(), now.text()));
}

/// Algorithms depend on the machine's tuning and on the version.
void warn_of_other_convolutions(const json& trainer, const session::Session& session) {
  if (!session.conv_choices() || !trainer.contains("convolutions")) return;
  const auto before = trainer["convolutions"].get<backend::ConvChoices::Names>();
  if (const std::string text = session::conv_difference(before, session::conv_names(*session.conv_choices()));
      !text.empty())
    log::warn(text);
}

void save_callback_weights(const Callbacks& callbacks, formats::CheckpointState& state, const graph::Model& model) {
  for (std::size_t c = 0; c < callbacks.size(); ++c) {
    const auto& kept = callbacks[c]->saved_weights();
    for (std::size_t w = 0; w < kept.size(); ++w)
      state.arrays.push_back({saved_name(c, model.weights[w].path(model.graph)), model.weights[w].def.shape, kept[w]});
  }
}

std::string title(const std::string& name, const std::string& subject) {
  return subject.empty() ? name : fmt::format("{} ({})", name, subject);
}

/// Pairs saved entries with callbacks by type and subject, in order. Older entries lack a subject and match any.
std::vector<const json*> pair_up(const json& saved, const Callbacks& callbacks) {
  std::vector<const json*> found(callbacks.size(), nullptr);
  for (const json& entry : saved) {
    const auto name = entry.at("name").get<std::string>();
    const bool any = !entry.contains("subject");
    const std::string subject = entry.value("subject", "");
    std::size_t c = 0;
    while (c < callbacks.size() &&
           (found[c] != nullptr || callbacks[c]->name() != name || !(any || callbacks[c]->subject() == subject)))
      ++c;
    if (c < callbacks.size())
      found[c] = &entry;
    else
      log::warn(fmt::format("the config no longer has the callback {}; its state is dropped", title(name, subject)));
  }
  return found;
}

void restore_callbacks(const json& saved, const formats::CheckpointState& state, const Callbacks& callbacks,
                       const graph::Model& model) {
  const std::vector<const json*> pairs = pair_up(saved, callbacks);
  for (std::size_t c = 0; c < callbacks.size(); ++c) {
    Callback& callback = *callbacks[c];
    if (pairs[c] == nullptr) {
      log::info(
          fmt::format("the callback {} is new and starts without a state", title(callback.name(), callback.subject())));
      continue;
    }
    callback.restore(pairs[c]->at("state"));
    if (!pairs[c]->value("weights", false)) continue;
    const auto number = static_cast<std::size_t>(pairs[c] - saved.get_ptr<const json::array_t*>()->data());
    std::vector<std::vector<float>> kept;
    for (const graph::Weight& weight : model.weights) {
      kept.push_back(array(state.arrays, saved_name(number, weight.path(model.graph))).values);
      if (static_cast<std::int64_t>(kept.back().size()) != weight.def.shape.elements())
        throw Error(ErrorKind::kCheckpoint,
                    fmt::format("{} keeps {} values of '{}', the model has {}", callback.name(), kept.back().size(),
                                weight.path(model.graph), weight.def.shape.elements()));
    }
    callback.restore_weights(std::move(kept));
  }
}

std::int64_t bucket_window(const session::Session& session) {
  return session.experiment().config.data.loader.bucket_by_length.window;
}

/// "full", "none", "buffer of 1000 samples".
std::string shuffle_text(const session::Session& session) {
  using Kind = data::Shuffle::Kind;
  const data::Shuffle& shuffle = session.experiment().config.data.loader.shuffle;
  if (shuffle.kind == Kind::kBuffer) return fmt::format("buffer of {} samples", shuffle.buffer);
  return shuffle.kind == Kind::kNone ? "none" : "full";
}

/// Inside an epoch the order must be the checkpoint's. With buckets it also depends on their window and the batch.
void check_order(const json& trainer, const Position& position, session::Session& session) {
  if (position.samples == 0 || position.samples == session.train_loader().samples()) return;
  const std::string shuffle = shuffle_text(session);
  if (const std::string before = trainer.value("shuffle", shuffle); before != shuffle)
    throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint is at sample {} of an epoch with shuffle: {}, this "
                                                    "run has {}; continue with the same, or from the end of an epoch",
                                                    position.samples, before, shuffle));
  const std::int64_t window = trainer.value("bucket_by_length", std::int64_t{0}), now = bucket_window(session);
  if (window == 0 && now == 0) return;
  const auto batch = trainer.at("global_batch").get<std::int64_t>();
  if (window == now && batch == session.global_batch()) return;
  const auto words = [](std::int64_t size, std::int64_t of) {
    return fmt::format("batch_size {} and bucket_by_length {}", size, of == 0 ? "none" : std::to_string(of));
  };
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("the checkpoint is at sample {} of an epoch with {}, and with {} the order differs; continue "
                          "with the same, or from the end of an epoch; --init-from starts from its weights",
                          position.samples, words(batch, window), words(session.global_batch(), now)));
}

/// Older checkpoints lack the key; it follows from the steps and the last batch size.
double saved_earlier_epochs(const json& trainer) {
  if (trainer.contains("earlier_epochs")) return trainer["earlier_epochs"].get<double>();
  const auto samples = trainer.at("samples_per_epoch").get<std::int64_t>();
  const auto batch = trainer.at("global_batch").get<std::int64_t>();
  if (samples <= 0 || batch <= 0)
    throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint has {} samples per epoch and a global batch of {}; "
                                                    "both must be > 0",
                                                    samples, batch));
  const std::int64_t steps = (samples + batch - 1) / batch;
  return static_cast<double>(saved_count(trainer, "earlier_steps")) / static_cast<double>(steps);
}

}  // namespace

double Position::batches(const session::Session& session) const {
  const bool whole = samples == session.samples_per_epoch();  // the last batch may be short
  const auto per_epoch = static_cast<double>(session.steps_per_epoch());
  const double of_epoch =
      whole ? per_epoch : static_cast<double>(samples) / static_cast<double>(session.global_batch());
  return static_cast<double>(epoch) * per_epoch + of_epoch;
}

nn::Progress Position::progress(const session::Session& session, std::int64_t number) const {
  const double earlier = std::round(earlier_epochs * static_cast<double>(session.steps_per_epoch()));
  const nn::Progress here{static_cast<double>(iterations()), earlier + batches(session)};
  return here.after(static_cast<double>(number - step));
}

double Position::rate(const session::Session& session, std::int64_t number) const {
  return rate_factor * (learning_rate ? *learning_rate : session.scheduled_rate(progress(session, number)));
}

formats::CheckpointState make_state(session::Session& session, const Position& position, const Callbacks& callbacks,
                                    const BestValues& best) {
  formats::CheckpointState state;
  state.resolved_config = config::to_yaml(resolved(session.experiment()));
  state.class_names = session.class_names();
  state.fitted_state = session.fitted_state();
  json trainer{{"epoch", position.epoch},
               {"samples", position.samples},
               {"step", position.step},
               {"rate", position.rate(session, position.step)},
               {"sums", sums_json(position.sums, session.plan())},
               {"epoch_seconds", position.epoch_seconds},
               {"seconds", position.seconds},
               {"seed", session.experiment().config.seed},
               {"samples_per_epoch", session.train_loader().samples()},
               {"global_batch", session.global_batch()},
               {"replicas", session.world().ranks},
               {"data", session.data_fingerprint()},
               {"shuffle", shuffle_text(session)}};
  if (const std::int64_t window = bucket_window(session); window > 0) trainer["bucket_by_length"] = window;
  if (session.conv_choices()) trainer["convolutions"] = session::conv_names(*session.conv_choices());
  if (position.learning_rate) trainer["learning_rate"] = *position.learning_rate;
  if (position.earlier_steps > 0) {
    trainer["earlier_steps"] = position.earlier_steps;
    trainer["earlier_epochs"] = position.earlier_epochs;
  }
  if (position.rate_factor != 1) trainer["rate_factor"] = position.rate_factor;
  if (position.skipped_steps > 0) trainer["skipped_steps"] = position.skipped_steps;
  if (position.rollbacks > 0) trainer["rollbacks"] = position.rollbacks;
  if (position.validated_step > 0) trainer["validation"] = validation_json(position);
  const auto scale = session.replicas().pull_loss_scale();
  if (scale && (session.plan().compute == DType::kF16 || scale->skipped > 0))
    trainer["loss_scale"] = {{"scale", scale->scale}, {"good_steps", scale->good_steps}, {"skipped", scale->skipped}};
  for (const auto& [name, entry] : best) trainer["best"][name] = {{"value", entry.first}, {"epoch", entry.second}};
  if (!position.last_logs.items().empty()) trainer["logs"] = logs_json(position.last_logs);
  trainer["callbacks"] = json::array();
  for (const auto& callback : callbacks)
    trainer["callbacks"].push_back({{"name", callback->name()},
                                    {"subject", callback->subject()},
                                    {"state", callback->save()},
                                    {"weights", !callback->saved_weights().empty()}});
  state.trainer = trainer.dump();
  save_slots(session, state);
  save_callback_weights(callbacks, state, session.model());
  return state;
}

Position restore_state(const formats::CheckpointState& state, session::Session& session, const Callbacks& callbacks,
                       BestValues& best) {
  if (state.trainer.empty())
    throw Error(ErrorKind::kCheckpoint,
                "the checkpoint contains weights only and cannot be resumed; --init-from starts from its weights");
  try {
    const json trainer =
        json::parse(check_json_depth(state.trainer, ErrorKind::kCheckpoint, "the state of the trainer"));
    Position position;
    position.epoch = saved_count(trainer, "epoch");
    position.samples = saved_count(trainer, "samples");
    position.step = saved_count(trainer, "step");
    position.earlier_steps = saved_count(trainer, "earlier_steps");
    position.earlier_epochs = saved_earlier_epochs(trainer);
    position.sums.loss = trainer.at("sums").at("loss").get<double>();
    restore_output_sums(trainer.at("sums"), position.sums);
    position.sums.samples = saved_count(trainer.at("sums"), "samples");
    position.epoch_seconds = trainer.at("epoch_seconds").get<double>();
    position.seconds = trainer.at("seconds").get<double>();
    position.rate_factor = trainer.value("rate_factor", 1.0);
    position.skipped_steps = saved_count(trainer, "skipped_steps");
    position.rollbacks = saved_count(trainer, "rollbacks");
    if (trainer.contains("validation")) restore_validation(trainer["validation"], position);
    if (trainer.contains("learning_rate")) position.learning_rate = trainer["learning_rate"].get<double>();
    position.last_logs = saved_logs(trainer.value("logs", json::array()));
    compare_classes(data::class_names_of_model(state.fitted_state, state.class_names), session.class_names());
    compare_data(trainer, session);
    const auto samples = trainer.at("samples_per_epoch").get<std::int64_t>();
    if (samples != session.train_loader().samples())
      throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint was trained on {} samples per epoch, the data "
                                                      "set has {}; --init-from starts from its weights",
                                                      samples, session.train_loader().samples()));
    check_order(trainer, position, session);
    begin_other_sums(trainer.at("sums"), session.plan(), position.sums);
    best.clear();  // after a rollback it contains values of discarded steps
    const json bests = trainer.value("best", json::object());
    for (const auto& [name, entry] : bests.items())
      if (!entry.at("value").is_null()) best[name] = {entry["value"].get<double>(), saved_count(entry, "epoch")};
    restore_slots(state.arrays, session);
    warn_of_other_convolutions(trainer, session);
    if (trainer.contains("loss_scale")) restore_loss_scale(trainer["loss_scale"], session);
    if (!trainer.at("callbacks").is_array()) throw Error(ErrorKind::kCheckpoint, "its callbacks are not a list");
    restore_callbacks(trainer.at("callbacks"), state, callbacks, session.model());
    return position;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("the checkpoint's training state cannot be read: {}", error.what()));
  }
}

void begin_with(const formats::OptimizerState& state, session::Session& session) {
  restore_slots(state.slots, session);
}

void use_averages(session::Session& session, graph::Model& model) {
  const std::vector<std::vector<float>> flat = session.replicas().pull_state();
  for_trainable(session.plan(), [&](const plan::Parameter& parameter, std::int64_t begin) {
    const auto first = flat.back().begin() + begin;
    model.weights[static_cast<std::size_t>(parameter.weight)].values.assign(first, first + parameter.elements());
  });
}

void use_averages(const formats::CheckpointState& state, graph::Model& model) {
  for (graph::Weight& weight : model.weights)
    if (weight.trainable) weight.values = array(state.arrays, "average/" + weight.path(model.graph)).values;
}

}  // namespace dptrain::train
