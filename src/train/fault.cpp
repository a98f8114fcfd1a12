#include "train/fault.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/text.h"
#include "formats/checkpoint/checkpoint.h"
#include "session/session.h"
#include "train/line_file.h"
#include "train/position.h"

namespace dptrain::train {
namespace fs = std::filesystem;
namespace {

using nlohmann::ordered_json;

/// Runs steps from `position`, with validation after each epoch, until an error or past `last_step`.
std::optional<Error> run_until_error(session::Session& session, Position position, std::int64_t last_step) try {
  data::Loader& loader = session.train_loader();
  while (position.step < last_step) {
    const data::Batch batch = loader.next();
    if (batch.rows() == 0) {
      if (data::Loader* validation = session.validation_loader()) evaluate(session, *validation);
      loader.next_epoch();
      ++position.epoch;
      position.samples = 0;
      continue;
    }
    const runtime::StepInputs in{position.iterations(), position.rate(session, position.step), batch.rows()};
    session.replicas().step(batch.view(), in);
    ++position.step;
    position.samples = batch.end();
  }
  return std::nullopt;
} catch (const Error& error) {
  return error;
} catch (const std::exception& error) {
  return Error(ErrorKind::kInternal, error.what());
}

/// A number as text and as bits, since JSON has no NaN.
ordered_json exact(double value) {
  return {{"text", fmt::format("{}", value)}, {"bits", std::bit_cast<std::uint64_t>(value)}};
}

ordered_json devices_json(const session::DeviceRequest& request) {
  ordered_json out{{"replicas", request.replicas}, {"threads", request.threads}, {"gpus", ordered_json::array()}};
  for (const session::GpuId& gpu : request.gpus) out["gpus"].push_back(gpu.name());
  if (request.slots > 1) out["slots"] = {{"threads", request.slot_threads}, {"placement", request.placement}};
  return out;
}

session::DeviceRequest devices_of(const ordered_json& saved) {
  session::DeviceRequest request{.replicas = saved.at("replicas").get<int>(),
                                 .threads = saved.at("threads").get<int>()};
  for (const auto& entry : saved.at("gpus")) {
    const auto name = entry.get<std::string>();  // "emu:1"
    const auto kind = name.starts_with("emu:") ? backend::DeviceKind::kEmu : backend::DeviceKind::kCuda;
    request.gpus.push_back({kind, std::stoi(name.substr(4))});
  }
  request.grouped = true;
  if (const auto slots = saved.find("slots"); slots != saved.end()) {
    slots->at("threads").get_to(request.slot_threads);
    slots->at("placement").get_to(request.placement);
    request.slots = static_cast<int>(request.placement.size());
  }
  return request;
}

/// Location of the layer in the config; "" for the loss.
std::string place_of(const runtime::NotFinite& found, const graph::Graph& graph) {
  const auto& nodes = graph.nodes;
  if (found.node >= 0) return nodes[static_cast<std::size_t>(found.node)].mark.str();
  const auto input = std::ranges::find(nodes, found.layer, &graph::Node::name);
  return input == nodes.end() ? "" : input->mark.str();
}

}  // namespace

std::optional<Fault> examine(const graph::Model& model, const std::string& what) {
  for (const graph::Weight& weight : model.weights) {
    const auto bad = std::ranges::count_if(weight.values, [](float value) { return !std::isfinite(value); });
    if (bad == 0) continue;
    const graph::Layer& layer = model.graph.layers[static_cast<std::size_t>(weight.layer)];
    Fault fault{.what = what, .place = layer.mark.str()};
    fault.first = runtime::NotFinite{.layer = layer.name,
                                     .what = weight.def.name,
                                     .count = bad,
                                     .values = static_cast<std::int64_t>(weight.values.size())};
    return fault;
  }
  return std::nullopt;
}

Fault examine(session::Session& session, const data::Batch& batch, const runtime::StepInputs& in, std::int64_t epoch,
              double loss, const std::string& what) {
  Fault fault{.what = what, .step = in.number + 1, .epoch = epoch + 1, .loss = loss};
  fault.devices = session.devices();
  fault.first = session.replicas().find_not_finite(batch.view(), in);
  if (fault.first) fault.place = place_of(*fault.first, session.model().graph);
  fault.samples = samples_of(session, batch);
  return fault;
}

std::vector<std::pair<std::int64_t, std::string>> samples_of(const session::Session& session,
                                                             const data::Batch& batch) {
  std::vector<std::pair<std::int64_t, std::string>> samples;
  for (const std::int64_t index : batch.indices()) samples.emplace_back(index, session.train_sample(index));
  return samples;
}

bool is_replayable(ErrorKind kind) {
  return kind == ErrorKind::kInternal || kind == ErrorKind::kData || kind == ErrorKind::kDevice ||
         kind == ErrorKind::kDeadline;
}

std::string describe(const Fault& fault) {
  if (fault.error) return fmt::format("in epoch {}, after step {}", fault.epoch, fault.step - 1);
  if (!fault.first) return "the step done again is finite";
  const runtime::NotFinite& first = *fault.first;
  std::string text = first.layer.empty() ? first.what : fmt::format("layer '{}', {}", first.layer, first.what);
  if (!fault.place.empty()) text = fmt::format("layer '{}' ({}), {}", first.layer, fault.place, first.what);
  if (first.values > 1) text += fmt::format(": {} of {} values are not finite", first.count, first.values);
  const auto row = static_cast<std::size_t>(first.row);
  if (first.row >= 0 && row < fault.samples.size())
    text += fmt::format(", first of sample {} ({})", fault.samples[row].first, fault.samples[row].second);
  return text;
}

void write_fault(const std::string& folder, const Fault& fault) {
  ordered_json out{{"what", fault.what}, {"step", fault.step}, {"epoch", fault.epoch}, {"loss", exact(fault.loss)}};
  if (fault.error) out["exit_code"] = static_cast<int>(*fault.error), out["last_step"] = fault.last_step;
  if (fault.first) {
    const runtime::NotFinite& first = *fault.first;
    out["first"] = {{"layer", first.layer}, {"node", first.node},     {"place", fault.place}, {"what", first.what},
                    {"count", first.count}, {"values", first.values}, {"row", first.row}};
  }
  out["said"] = describe(fault);
  out["devices"] = devices_json(fault.devices);
  out["samples"] = ordered_json::array();
  for (const auto& [index, file] : fault.samples) out["samples"].push_back({{"index", index}, {"file", file}});
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write: {}", folder, error.message()));
  write_text((fs::path(folder) / kFaultFile).string(),
             out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void save_fault(const std::string& folder, const Fault& fault, const std::string& checkpoint) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path state = fs::path(folder) / kFaultState;
  fs::remove(state, error);  // from an earlier fault
  if (fs::exists(checkpoint, error)) fs::copy_file(checkpoint, state);
  write_fault(folder, fault);
}

Fault read_fault(const std::string& folder) {
  const std::string path = (fs::path(folder) / kFaultFile).string();
  std::ifstream file(path);
  if (!file)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("{}: there is no {}; name the folder 'fault' of a run that failed", folder, kFaultFile));
  try {
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const ordered_json saved = ordered_json::parse(check_json_depth(text, ErrorKind::kCheckpoint, "it"));
    Fault fault{.what = saved.at("what").get<std::string>(),
                .step = saved.at("step").get<std::int64_t>(),
                .epoch = saved.at("epoch").get<std::int64_t>(),
                .loss = std::bit_cast<double>(saved.at("loss").at("bits").get<std::uint64_t>())};
    if (saved.contains("exit_code")) {
      fault.error = static_cast<ErrorKind>(saved["exit_code"].get<int>());
      fault.last_step = saved.at("last_step").get<std::int64_t>();
    }
    if (saved.contains("first")) {
      const ordered_json& first = saved["first"];
      fault.first = runtime::NotFinite{.layer = first.at("layer").get<std::string>(),
                                       .node = first.at("node").get<int>(),
                                       .what = first.at("what").get<std::string>(),
                                       .count = first.at("count").get<std::int64_t>(),
                                       .values = first.at("values").get<std::int64_t>(),
                                       .row = first.at("row").get<std::int64_t>()};
      fault.place = first.at("place").get<std::string>();
    }
    fault.devices = devices_of(saved.at("devices"));
    for (const ordered_json& sample : saved.at("samples"))
      fault.samples.emplace_back(sample.at("index").get<std::int64_t>(), sample.at("file").get<std::string>());
    return fault;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kCheckpoint, fmt::format("{}: cannot be read: {}", path, error.what()));
  }
}

bool Replay::confirmed() const {
  if (recorded.error) return again.error == recorded.error && again.what == recorded.what;
  if (finite || again.first.has_value() != recorded.first.has_value()) return false;
  return !again.first || (again.first->layer == recorded.first->layer && again.first->what == recorded.first->what &&
                          again.first->row == recorded.first->row);
}

Replay replay(const std::string& folder, const std::optional<session::DeviceRequest>& devices,
              const experiment::Overrides& overrides) {
  Replay result;
  result.recorded = read_fault(folder);
  const std::string file = (fs::path(folder) / kFaultState).string();
  const formats::CheckpointState state = formats::read_state(file);
  const experiment::Experiment experiment = load_experiment_text(state.resolved_config, file, overrides);
  session::SessionOptions options;
  options.fitted_state = state.fitted_state;
  options.devices = devices.value_or(result.recorded.devices);
  options.wants_validation = result.recorded.error.has_value();
  options.global_batch = nlohmann::json::parse(state.trainer).at("global_batch").get<std::int64_t>();
  session::Session session(experiment, options);
  formats::load_weights(file, session.model());
  session.replicas().push(session.model());
  BestValues best;
  const Position position = restore_state(state, session, {}, best);
  result.devices = short_name(session.devices());

  data::Loader& loader = session.train_loader();
  loader.seek(position.epoch, position.samples);
  if (result.recorded.error) {
    if (const std::optional<Error> error = run_until_error(session, position, result.recorded.last_step))
      result.again.error = error->kind(), result.again.what = error->what();
    return result;
  }
  const data::Batch batch = loader.next();
  std::vector<std::int64_t> recorded;
  for (const auto& [index, name] : result.recorded.samples) recorded.push_back(index);
  if (batch.indices() != recorded)
    throw Error(ErrorKind::kData,
                fmt::format("{}: the data set gives other samples than in the run; it has changed", folder));
  const runtime::StepInputs in{position.iterations(), position.rate(session, position.step), batch.rows()};
  const runtime::StepSums sums = session.replicas().step(batch.view(), in);
  const double loss = sums.loss / static_cast<double>(sums.samples) + sums.penalty;
  result.finite = std::isfinite(loss) && !sums.update_skipped;
  result.same_bits = std::bit_cast<std::uint64_t>(loss) == std::bit_cast<std::uint64_t>(result.recorded.loss);
  result.again.loss = loss;
  if (result.finite) return result;
  result.again = examine(session, batch, in, position.epoch, loss, result.recorded.what);
  if (result.confirmed()) result.again.place = result.recorded.place;  // as in the run's own config
  return result;
}

}  // namespace dptrain::train
