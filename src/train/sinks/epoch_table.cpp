#include <algorithm>
#include <charconv>
#include <vector>

#include "core/format.h"
#include "core/text.h"
#include "train/line_file.h"
#include "train/sinks/run_files.h"

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

class EpochTable final : public RunSink {
 public:
  EpochTable(const std::string& path, bool validated) : path_(path), file_(path), validated_(validated) {
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

  bool flush() override { return file_.flush(); }

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

  std::string path_;
  LineFile file_;
  bool validated_;
  std::vector<std::string> columns_;  ///< once known
  std::int64_t last_row_ = 0;         ///< its epoch
};

}  // namespace

std::int64_t leading_number(const std::string& row) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(row.data(), row.data() + row.size(), number);
  return error == std::errc() ? number : 0;
}

std::unique_ptr<RunSink> make_epoch_table(const std::string& path, bool validated) {
  return std::make_unique<EpochTable>(path, validated);
}

}  // namespace dptrain::train
