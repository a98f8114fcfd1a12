#include "train/replay.h"

#include <bit>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "formats/checkpoint/checkpoint.h"
#include "session/session.h"
#include "train/position.h"

namespace dptrain::train {

namespace {

/// Steps from `position` on, with a validation after each epoch, until an error comes or the run is past `last_step`.
std::optional<Error> go_on(session::Session& session, Position position, std::int64_t last_step) try {
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
    session.replicas().step(batch.host(), in);
    ++position.step;
    position.samples = batch.end();
  }
  return std::nullopt;
} catch (const Error& error) {
  return error;
} catch (const std::exception& error) {
  return Error(ErrorKind::kInternal, error.what());
}

}  // namespace

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
  const std::string file = (std::filesystem::path(folder) / kFaultState).string();
  const formats::CheckpointState state = formats::read_state(file);
  const experiment::Experiment experiment = load_experiment_text(state.resolved_config, file, overrides);
  session::SessionOptions options;
  options.learned = state.learned;
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
    if (const std::optional<Error> error = go_on(session, position, result.recorded.last_step))
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
  const runtime::StepSums sums = session.replicas().step(batch.host(), in);
  const double loss = sums.loss / static_cast<double>(sums.samples) + sums.penalty;
  result.finite = std::isfinite(loss) && !sums.left_out;
  result.same_bits = std::bit_cast<std::uint64_t>(loss) == std::bit_cast<std::uint64_t>(result.recorded.loss);
  result.again.loss = loss;
  if (result.finite) return result;
  result.again = examine(session, batch, in, position.epoch, loss, result.recorded.what);
  if (result.confirmed()) result.again.place = result.recorded.place;  // in the run's own config, not in the state's
  return result;
}

}  // namespace dptrain::train
