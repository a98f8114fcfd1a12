#include "train/epoch_log.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "core/rate.h"
#include "core/text.h"
#include "session/environment.h"
#include "train/step_log.h"

namespace dptrain::train {

experiment::Logs logs_of(const session::Session& session, const Position& position) {
  experiment::Logs logs;
  for (const auto& [name, value] : session::values_of(session.plan(), position.sums)) logs.set(name, value);
  return logs;
}

void log_epoch(const session::Session& session, RunDirectory& run, const EpochReport& report, std::int64_t batches,
               double learning_rate) {
  const double examples = static_cast<double>(report.samples) / report.train_seconds;
  log::info(fmt::format("{}/{} - {:.0f}s{} - {} ex/s - rss {}", batches, session.steps_per_epoch(), report.seconds,
                        values_text(report.logs.items()), rate_text(examples), human_bytes(session::resident_bytes())));
  run.epoch_row(report.epoch + 1, report.logs, learning_rate, examples, report.seconds);
}

void write_epoch_event(RunDirectory& run, const EpochReport& report, std::int64_t step) {
  nlohmann::json fields{{"epoch", report.epoch + 1}, {"step", step}, {"seconds", report.seconds}};
  for (const auto& [name, value] : report.logs.items()) fields[name] = value;
  run.event("epoch", fields);
}

void remember_best(const EpochReport& report, BestValues& best) {
  for (const auto& [name, value] : report.logs.items()) {
    const auto found = best.find(name);
    const std::optional<double> old = found == best.end() ? std::nullopt : std::optional(found->second.first);
    if (improved(value, old, wants_max(experiment::MonitorMode::kAuto, name), 0))
      best[name] = {value, report.epoch + 1};
  }
}

void write_result(const FitResult& result, session::Session& session, RunDirectory& run, const Position& position,
                  const BestValues& best_values, const Saver& saver) {
  nlohmann::json final = nlohmann::json::object(), best = nlohmann::json::object();
  for (const auto& [name, value] : result.final.items()) final[name] = value;
  for (const auto& [name, entry] : best_values) best[name] = entry.first;
  const auto monitored = best_values.find(best_values.contains("val_loss") ? "val_loss" : "loss");
  if (monitored != best_values.end()) best["epoch"] = monitored->second.second;
  nlohmann::json checkpoints{{"last", run.checkpoint("last.h5")}};
  if (std::filesystem::exists(run.checkpoint("best.h5"))) checkpoints["best"] = run.checkpoint("best.h5");
  const double seconds = position.seconds + position.epoch_seconds;
  const double samples = static_cast<double>(position.epoch) * static_cast<double>(session.train_loader().samples()) +
                         static_cast<double>(position.samples);
  nlohmann::json written{{"exit", result.exit},
                         {"epochs", position.epoch},
                         {"steps", position.step},
                         {"skipped_steps", result.skipped_steps},
                         {"rollbacks", result.rollbacks},
                         {"seconds", seconds},
                         {"examples_per_second", samples / std::max(seconds, 1e-9)},
                         {"final", final},
                         {"best", best},
                         {"checkpoints", checkpoints}};
  if (!result.reason.empty()) written["reason"] = result.reason;
  run.write_json("result.json", written);
  run.event("end", {{"exit", result.exit},
                    {"step", position.step},
                    {"saves", saver.saves()},
                    {"save_stall_seconds", saver.stall()}});
}

}  // namespace dptrain::train
