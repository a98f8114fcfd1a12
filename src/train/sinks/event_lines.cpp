#include <chrono>

#include <nlohmann/json.hpp>

#include "train/line_file.h"
#include "train/sinks/run_files.h"

namespace dptrain::train {
namespace {

class EventLines final : public RunSink {
 public:
  explicit EventLines(const std::string& path) : path_(path), file_(path) {}

  /// What happened stays: only a torn line goes.
  void cut(std::int64_t, std::int64_t) override {
    LineFile::filter(path_, [](const std::string& line) { return nlohmann::json::accept(line); });
  }

  void step(const IntervalReport& report) override {
    event("step", {{"step", report.last.step},
                   {"epoch", report.last.epoch + 1},
                   {"loss", report.loss},
                   {"lr", report.last.learning_rate}});
  }

  void epoch(const EpochReport& report) override {
    if (!report.whole) return;
    nlohmann::json fields{{"epoch", report.epoch + 1}, {"step", report.step}, {"seconds", report.seconds}};
    for (const auto& [name, value] : report.logs.items()) fields[name] = value;
    event("epoch", fields);
  }

  void event(const std::string& kind, const nlohmann::json& fields) override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    nlohmann::ordered_json line{
        {"t", static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) / 1e3},
        {"ev", kind}};
    for (const auto& [key, value] : fields.items()) line[key] = value;
    file_.append(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  void end(const EndReport& report) override {
    event("end", {{"exit", report.result.exit},
                  {"step", report.steps},
                  {"saves", report.saves},
                  {"save_stall_seconds", report.save_stall_seconds}});
  }

  bool flush() override { return file_.flush(); }

 private:
  std::string path_;
  LineFile file_;
};

}  // namespace

std::unique_ptr<RunSink> make_event_lines(const std::string& path) { return std::make_unique<EventLines>(path); }

}  // namespace dptrain::train
