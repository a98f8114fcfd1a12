#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "train/sinks/run_files.h"

namespace dptrain::train {
namespace {

class ResultFile final : public RunSink {
 public:
  explicit ResultFile(const RunDirectory& directory) : directory_(directory) {}

  /// A run that is resumed has not ended.
  void cut(std::int64_t, std::int64_t) override {
    std::error_code error;
    std::filesystem::remove(directory_.file("result.json"), error);
    if (error)
      throw Error(ErrorKind::kWrite,
                  fmt::format("{}: cannot remove: {}", directory_.file("result.json"), error.message()));
  }

  void end(const EndReport& report) override {
    nlohmann::json final = nlohmann::json::object(), best = nlohmann::json::object();
    nlohmann::json best_by_metric = nlohmann::json::object(), directions = nlohmann::json::object();
    for (const auto& [name, value] : report.result.final.items()) final[name] = value;
    for (const auto& [name, entry] : report.best) {
      best[name] = entry.first;
      best_by_metric[name] = {{"value", entry.first}, {"epoch", entry.second}};
    }
    for (const experiment::LoggedValue& value : report.logged)
      directions[value.name] = value.better == nn::Direction::kLarger ? "max" : "min";
    const auto monitored = report.best.find(report.best.contains("val_loss") ? "val_loss" : "loss");
    if (monitored != report.best.end()) best["epoch"] = monitored->second.second;
    const auto checkpoint = [&](const char* name) { return std::filesystem::absolute(directory_.checkpoint(name)); };
    nlohmann::json checkpoints{{"last", checkpoint("last.h5").string()}};
    if (const std::filesystem::path file = checkpoint("best.h5"); std::filesystem::exists(file))
      checkpoints["best"] = file.string();
    nlohmann::json written{{"exit", report.result.exit},
                           {"epochs", report.epochs},
                           {"steps", report.steps},
                           {"skipped_steps", report.result.skipped_steps},
                           {"rollbacks", report.result.rollbacks},
                           {"seconds", report.seconds},
                           {"examples_per_second", report.examples_per_second},
                           {"final", final},
                           {"best", best},
                           {"best_by_metric", best_by_metric},
                           {"directions", directions},
                           {"checkpoints", checkpoints}};
    if (!report.result.reason.empty()) written["reason"] = report.result.reason;
    directory_.write_json("result.json", written);
  }

 private:
  const RunDirectory& directory_;
};

}  // namespace

std::unique_ptr<RunSink> make_result_file(const RunDirectory& directory) {
  return std::make_unique<ResultFile>(directory);
}

}  // namespace dptrain::train
