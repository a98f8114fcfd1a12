#include "train/run.h"

#include <algorithm>

#include "session/evaluation.h"
#include "session/session.h"
#include "train/callback_def.h"

namespace dptrain::train {

Run::Run(session::Session& its_session, const RunDirectory& its_directory, ProgressMode mode)
    : session(its_session),
      directory(its_directory),
      world(its_session.world()),
      logged(experiment::logged_values(session.experiment().config.train, session.experiment().graph,
                                       static_cast<bool>(session.experiment().config.data.validation))),
      sinks(world.is_first() ? make_run_sinks(directory, static_cast<bool>(session.experiment().config.data.validation))
                             : std::make_unique<RunSink>()),
      progress(mode) {
  for (const experiment::CallbackConfig& callback : session.experiment().config.callbacks)
    callbacks.push_back(make_callback(callback));
  position.sums.outputs.assign(session.plan().sums(), 0.0);
}

void Run::stop(const std::string& reason) {
  if (stop_reason.empty()) stop_reason = reason;
}

double Run::rate_of(std::int64_t step) const { return position.rate(session, std::max<std::int64_t>(0, step)); }

experiment::Logs Run::logs() const {
  experiment::Logs logs;
  for (const auto& [name, value] : session::values_of(session.plan(), position.sums)) logs.set(name, value);
  return logs;
}

std::int64_t Run::validation_steps() const {
  const config::Duration& every = session.experiment().config.train.validate_every;
  return every.unit == config::Duration::Unit::kSteps ? static_cast<std::int64_t>(every.value) : 0;
}

}  // namespace dptrain::train
