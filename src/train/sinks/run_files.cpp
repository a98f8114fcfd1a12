// The files that each run writes, one RunSink each (docs/reference/run-directory.md).

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "plot/file.h"
#include "train/curves.h"
#include "train/line_file.h"
#include "train/run_sink.h"

namespace dptrain::train {
namespace {

/// "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds": training first, then validation.
std::vector<std::string> epoch_columns(const experiment::Logs& logs, bool validated) {
  std::vector<std::string> train, all{"epoch"};
  for (const auto& [name, value] : logs.items()) {
    if (name.starts_with("val_"))
      validated = true;
    else if (name != "learning_rate")
      train.push_back(name);
  }
  all.insert(all.end(), train.begin(), train.end());
  if (validated)
    for (const std::string& name : train) all.push_back("val_" + name);
  all.insert(all.end(), {"lr", "examples_per_second", "seconds"});
  return all;
}

/// The first field of a row as a number; 0 if it is not a number, as in a header.
std::int64_t leading_number(const std::string& row) {
  std::int64_t number = 0;
  std::from_chars(row.data(), row.data() + row.size(), number);
  return number;
}

/// A file that grows by whole lines.
class LineSink : public RunSink {
 public:
  explicit LineSink(const std::string& path) : path_(path), file_(path) {}

  bool flush() override { return file_.flush(); }

 protected:
  const std::string path_;
  LineFile file_;
};

/// train.csv: one row per epoch; a row of a partial epoch is replaced by the next row of the same epoch.
class EpochTable final : public LineSink {
 public:
  EpochTable(const std::string& path, bool validated) : LineSink(path), validated_(validated) {
    const std::vector<std::string> rows = LineFile::read(path);
    if (rows.empty()) return;
    columns_ = split(rows.front(), ',');
    last_row_ = leading_number(rows.back());
  }

  void cut(std::int64_t epochs, std::int64_t) override {
    LineFile::filter(path_, [&](const std::string& row) { return leading_number(row) <= epochs; });
    last_row_ = std::min(last_row_, epochs);
  }

  void epoch(const EpochReport& report) override {
    if (columns_.empty()) columns_ = epoch_columns(report.logs, validated_);
    const std::int64_t epoch = report.epoch + 1;
    std::vector<std::string> fields;
    for (const std::string& column : columns_) fields.push_back(field(column, report));
    if (last_row_ == epoch)
      LineFile::filter(path_, [&](const std::string& row) { return leading_number(row) != epoch; });
    last_row_ = epoch;
    file_.append(join(fields, ","), join(columns_, ","));
  }

 private:
  static std::string field(const std::string& column, const EpochReport& report) {
    const auto number = [](double value) { return fmt::format("{:.9g}", value); };
    if (column == "epoch") return std::to_string(report.epoch + 1);
    if (column == "lr") return number(report.learning_rate);
    if (column == "examples_per_second") return number(report.examples_per_second());
    if (column == "seconds") return number(report.seconds);
    const double* value = report.logs.find(column);
    return value == nullptr ? "" : number(*value);
  }

  bool validated_;
  std::vector<std::string> columns_;  ///< empty before the first row
  std::int64_t last_row_ = 0;         ///< epoch of the last row
};

/// steps.csv: one row per interval.
class StepTable final : public LineSink {
 public:
  using LineSink::LineSink;

  void cut(std::int64_t, std::int64_t steps) override {
    LineFile::filter(path_, [&](const std::string& row) { return leading_number(row) <= steps; });
  }

  void step(const IntervalReport& report) override {
    file_.append(fmt::format("{},{},{:.9g},{:.9g},{:.9g},{:.6g},{:.6g},{:.6g}", report.last.step, report.last.epoch + 1,
                             report.loss, report.last.learning_rate, report.examples_per_second, report.step_ms,
                             report.data_wait_ms, report.comm_exposed_ms),
                 "step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms");
  }
};

/// events.jsonl: one line {"t": unix seconds, "ev": kind, ...fields} per report.
class EventLines final : public LineSink {
 public:
  using LineSink::LineSink;

  /// Keeps all events and removes only a torn line.
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
};

/// data-errors.csv: one row per file; rows from before a resume are not repeated.
class DataErrors final : public LineSink {
 public:
  explicit DataErrors(const std::string& path) : LineSink(path) {
    for (const std::string& row : LineFile::read(path)) known_.insert(row);
  }

  /// Unreadable files do not depend on a run's state: removes only a torn line.
  void cut(std::int64_t, std::int64_t) override {
    LineFile::filter(path_, [](const std::string&) { return true; });
  }

  void bad_sample(const data::BadSample& bad) override {
    const std::string byte = bad.byte < 0 ? "" : std::to_string(bad.byte);
    const std::string row = join(std::vector{csv_field(bad.file), byte, csv_field(bad.reason)}, ",");
    if (known_.insert(row).second) file_.append(row, "file,byte,message");
  }

 private:
  std::set<std::string> known_;
};

/// curves.svg, drawn from train.csv, so that epochs before a resume are included: at most every two seconds, and at the
/// end. A failure is a warning.
class CurvesPicture final : public RunSink {
 public:
  explicit CurvesPicture(std::string folder) : folder_(std::move(folder)) {}

  void epoch(const EpochReport&) override {
    stale_ = true;
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ >= kMinTime) draw();
    if (!stale_) drawn_ = now;
  }
  void end(const EndReport&) override {
    if (stale_) draw();
  }

 private:
  static constexpr std::chrono::seconds kMinTime{2};  // between drawings: epochs may be short

  void draw() {
    try {
      if (LineFile::read((std::filesystem::path(folder_) / "train.csv").string()).size() < 2) return;  // no epoch
      const RunNames names = names_of_runs({folder_});
      const std::filesystem::path file = std::filesystem::path(folder_) / "curves.svg";
      plot::write(file.string(), plot::draw(curves_chart(names.title, {read_run(folder_, names.runs.front())}, false)));
      stale_ = false;
    } catch (const std::exception& error) {
      if (!warned_) log::warn(fmt::format("cannot write curves.svg; training continues: {}", error.what()));
      warned_ = true;
    }
  }

  std::string folder_;
  std::chrono::steady_clock::time_point drawn_{};
  bool stale_ = true;  // initially true: a completed run may have been killed while drawing
  bool warned_ = false;
};

class ResultFile final : public RunSink {
 public:
  explicit ResultFile(const RunDirectory& directory) : directory_(directory) {}

  /// A resumed run has no result yet.
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

/// Forwards to several sinks, in order.
class SinkList final : public RunSink {
 public:
  template <class Sink, class... Arguments>
  void add(Arguments&&... arguments) {
    sinks_.push_back(std::make_unique<Sink>(std::forward<Arguments>(arguments)...));
  }

  void cut(std::int64_t epochs, std::int64_t steps) override { each(&RunSink::cut, epochs, steps); }
  void step(const IntervalReport& report) override { each(&RunSink::step, report); }
  void epoch(const EpochReport& report) override { each(&RunSink::epoch, report); }
  void event(const std::string& kind, const nlohmann::json& fields) override { each(&RunSink::event, kind, fields); }
  void bad_sample(const data::BadSample& bad) override { each(&RunSink::bad_sample, bad); }
  void end(const EndReport& report) override { each(&RunSink::end, report); }
  bool flush() override {
    bool all = true;
    for (const auto& sink : sinks_) all = sink->flush() && all;
    return all;
  }

 private:
  template <class... Parameters, class... Arguments>
  void each(void (RunSink::*call)(Parameters...), const Arguments&... arguments) {
    for (const auto& sink : sinks_) ((*sink).*call)(arguments...);
  }

  std::vector<std::unique_ptr<RunSink>> sinks_;
};

}  // namespace

std::unique_ptr<RunSink> make_run_sinks(const RunDirectory& directory, bool validated) {
  auto all = std::make_unique<SinkList>();
  all->add<EpochTable>(directory.file("train.csv"), validated);
  all->add<StepTable>(directory.file("steps.csv"));
  all->add<DataErrors>(directory.file(experiment::kDataErrors));
  all->add<CurvesPicture>(directory.path());  // reads train.csv, which is complete by now
  all->add<ResultFile>(directory);
  all->add<EventLines>(directory.file("events.jsonl"));  // its "end" event implies that result.json exists
  return all;
}

std::unique_ptr<RunSink> silent_unless_first(const World& world, std::unique_ptr<RunSink> sink) {
  return world.is_first() ? std::move(sink) : std::make_unique<RunSink>();
}

}  // namespace dptrain::train
