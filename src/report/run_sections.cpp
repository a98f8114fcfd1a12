#include <algorithm>
#include <filesystem>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "nn/metric.h"
#include "plot/chart.h"
#include "plot/drawing.h"
#include "report/html.h"
#include "report/sections.h"
#include "train/run_directory.h"

namespace dptrain::report {
namespace {

std::string tile(const std::string& value, const std::string& what) {
  return element("div", "tile", element("b", "", escaped(value)) + element("span", "", breakable(what))) + "\n";
}

/// The best value of each metric, on validation data if there is some.
std::string metric_tiles(const RunRecord& run) {
  constexpr std::size_t kMax = 5;
  const std::string prefix = is_validated(run) ? "val_" : "";
  std::string tiles;
  std::size_t count = 0;
  for (const std::string& metric : metrics_of(run))
    if (const auto best = best_of(run, prefix + metric); best && count++ < kMax)
      tiles += tile(metric_text(best->value), fmt::format("best {}{}, epoch {}", prefix, metric, best->epoch));
  return tiles;
}

std::string evaluation_tiles(const RunRecord& run) {
  std::string tiles;
  for (const EvaluationRecord& evaluation : run.evaluations)
    if (evaluation.on == "test")
      for (const auto& [name, value] : evaluation.values) tiles += tile(metric_text(value), name + " on the test set");
  return tiles;
}

std::string where_text(const RunRecord& run) {
  std::vector<std::string> parts;
  if (!run.date.empty()) parts.push_back(date_text(run.date));
  if (const std::string& devices = value_of(run.environment, "devices"); !devices.empty()) parts.push_back(devices);
  if (const std::string& host = value_of(run.environment, "machine.host"); !host.empty()) parts.push_back("on " + host);
  if (const std::string& version = value_of(run.environment, "dptrain"); !version.empty())
    parts.push_back("dptrain " + version);
  return join(parts, " · ");
}

}  // namespace

std::string overview(const RunRecord& run) {
  const bool good = run.result && (run.result->exit == "completed" || run.result->exit == "early_stopping");
  const std::string ended = run.result ? train::exit_text(run.result->exit) : "not ended: it runs, or was killed";
  std::string html =
      element("p", "lead", element("span", good ? "chip" : "chip bad", escaped(ended)) + escaped(where_text(run)));
  if (run.result && !run.result->reason.empty()) html += element("p", "", escaped(run.result->reason));
  std::string tiles = metric_tiles(run) + evaluation_tiles(run);
  if (run.result) {
    tiles += tile(count_text(static_cast<double>(run.result->epochs)),
                  fmt::format("{}, {}", plural(run.result->epochs, "epoch"), counted(run.result->steps, "step")));
    tiles += tile(duration_text(run.result->seconds), "training and validation");
    tiles += tile(count_text(run.result->examples_per_second), "samples per second");
  }
  if (!run.layers.empty())
    tiles += tile(with_commas(run.parameters), fmt::format("parameters, {} trainable", with_commas(run.trainable)));
  return html + "\n" + element("div", "tiles", "\n" + tiles) + "\n";
}

std::vector<Section> sections_of(const RunRecord& run) {
  std::vector<Section> all{curves_section(run), metrics_section(run),  classes_section(run),
                           values_section(run), worst_section(run),    layers_section(run),
                           time_section(run),   problems_section(run), config_section(run)};
  std::erase_if(all, [](const Section& section) { return section.html.empty(); });
  return all;
}

std::string evaluated_text(const EvaluationRecord& evaluation) {
  return fmt::format("{} on {}, {}{}", std::filesystem::path(evaluation.checkpoint).filename().string(), evaluation.on,
                     counted(evaluation.samples, "sample"), evaluation.old ? " (outdated)" : "");
}

namespace {

std::string cell(const std::optional<double>& value) { return value ? metric_text(*value) : ""; }

/// The logged metrics, then those that only evaluations have.
std::vector<std::string> names_of(const RunRecord& run) {
  std::vector<std::string> names = metrics_of(run);
  for (const EvaluationRecord& evaluation : run.evaluations)
    for (const auto& [name, value] : evaluation.values)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::optional<double> value_in(const EvaluationRecord& evaluation, const std::string& name) {
  for (const auto& [key, value] : evaluation.values)
    if (key == name) return value;
  return std::nullopt;
}

}  // namespace

Section curves_section(const RunRecord& run) {
  Section section{.id = "curves", .title = "Learning curves"};
  section.html = run.curves ? charts(train::curves_chart("", {*run.curves}, false), "learning curves of " + run.name)
                            : note("There are none: the run has no train.csv with an epoch in it yet.");
  return section;
}

Section metrics_section(const RunRecord& run) {
  Section section{.id = "metrics", .title = "Metrics"};
  const std::vector<std::string> names = names_of(run);
  const std::string not_evaluated =
      !run.evaluations.empty() ? ""
      : run.has_validation
          ? note("The run has not been evaluated: dptrain eval " + shell_quoted(run.folder) + " adds its pictures.")
          : note("The config has no data to evaluate on: data.validation, or data.test, adds the pictures of eval.");
  if (names.empty()) {
    section.html = not_evaluated;
    return section;
  }
  const bool validated = is_validated(run);
  std::vector<Column> columns{{"metric"}};
  if (run.curves) columns.push_back({"training, last epoch", true});
  if (validated) columns.push_back({"validation, last epoch", true});
  if (run.curves) {
    columns.push_back({validated ? "validation, best" : "training, best", true});
    columns.push_back({"in epoch", true});
  }
  for (const EvaluationRecord& evaluation : run.evaluations) columns.push_back({evaluated_text(evaluation), true});
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    std::vector<std::string> row{escaped(name)};
    const std::optional<Best> best = best_of(run, (validated ? "val_" : "") + name);
    if (run.curves) row.push_back(cell(last_of(run, name)));
    if (validated) row.push_back(cell(last_of(run, "val_" + name)));
    if (run.curves) {
      row.push_back(best ? element("span", "best", metric_text(best->value)) : "");
      row.push_back(best ? std::to_string(best->epoch) : "");
    }
    for (const EvaluationRecord& evaluation : run.evaluations) row.push_back(cell(value_in(evaluation, name)));
    rows.push_back(std::move(row));
  }
  section.html = table(columns, rows);
  if (!validated && run.curves)
    section.html += note("The values are of training alone: data.validation in the config adds those of validation.");
  section.html += not_evaluated;
  return section;
}

namespace {

std::string totals(const RunRecord& run) {
  return fmt::format("{} parameters ({}), {} of them trainable.", with_commas(run.parameters),
                     human_bytes(static_cast<std::uint64_t>(run.parameters) * sizeof(float)),
                     with_commas(run.trainable));
}

std::string share(double seconds, double all) { return fmt::format("{:.1f} %", 100 * seconds / all); }

}  // namespace

Section layers_section(const RunRecord& run) {
  constexpr std::size_t kLong = 24;
  Section section{.id = "layers", .title = "Layers"};
  if (run.layers.empty()) {
    section.html = note("The config cannot be read here: " + run.model_problem);
    return section;
  }
  std::vector<std::vector<std::string>> rows;
  for (const graph::SummaryRow& row : run.layers)
    rows.push_back({escaped(row.name) + (row.calls > 1 ? fmt::format(" (shared x{})", row.calls) : ""),
                    escaped(row.type), escaped(row.shape), with_commas(row.parameters),
                    row.frozen           ? "frozen"
                    : row.parameters > 0 ? "trainable"
                                         : "",
                    escaped(row.inputs)});
  const std::string html =
      table({{"layer"}, {"type"}, {"output shape"}, {"parameters", true}, {"weights"}, {"connected to"}}, rows);
  section.html = element("p", "", escaped(totals(run))) + "\n";
  section.html += rows.size() > kLong ? folded(fmt::format("{} layers", rows.size()), html) : html;
  return section;
}

Section time_section(const RunRecord& run) {
  Section section{.id = "time", .title = "Where the time went"};
  if (!run.time || run.time->all() <= 0) return section;
  const TimeRecord& time = *run.time;
  struct Part {
    const char* name;
    double seconds;
    const char* color;
  };
  const Part parts[] = {{"computing and updating", time.computing, "--line0"},
                        {"waiting for other replicas", time.others, "--line4"},
                        {"waiting for data", time.data, "--line1"},
                        {"features of the frozen layers", time.features, "--line6"},
                        {"validation and the ends of epochs", time.rest, "--line2"},
                        {"waiting for checkpoints to be written", time.saving, "--line3"}};
  std::string bar;
  std::vector<std::vector<std::string>> rows;
  for (const Part& part : parts) {
    if (part.seconds <= 0) continue;
    bar += fmt::format("<span style=\"flex:{:.3f} 0 0;background:var({})\" title=\"{}\"></span>",
                       100 * part.seconds / time.all(), part.color, part.name);
    rows.push_back({fmt::format("<span class=\"swatch\" style=\"background:var({})\"></span>{}", part.color, part.name),
                    duration_text(part.seconds), share(part.seconds, time.all())});
  }
  section.html = element("div", "bar", bar) + "\n" + table({{"part"}, {"time", true}, {"share", true}}, rows);
  if (run.result && time.steps < run.result->steps)
    section.html += note(fmt::format("steps.csv has {} of {} steps; the rest counts among the ends of epochs.",
                                     with_commas(time.steps), with_commas(run.result->steps)));
  return section;
}

Section problems_section(const RunRecord& run) {
  constexpr std::size_t kMaxRows = 200;
  Section section{.id = "trouble", .title = "Faults, bad samples, warnings"};
  if (!run.fault.empty())
    section.html += element("h3", "", "Fault") + "\n" + preformatted(run.fault) +
                    note("dptrain replay " + shell_quoted(run.folder + "/fault") + " does the step again.");
  if (run.result && (run.result->skipped_steps > 0 || run.result->rollbacks > 0))
    section.html += element(
        "p", "",
        fmt::format("Skipped steps: {}. Returns to last.h5: {}.", run.result->skipped_steps, run.result->rollbacks));
  if (!run.bad_samples.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < std::min(kMaxRows, run.bad_samples.size()); ++i) {
      std::vector<std::string> row;
      for (const std::string& field : run.bad_samples[i]) row.push_back(escaped(field));
      rows.push_back(std::move(row));
    }
    const std::string title = counted(run.bad_samples.size(), "sample") + " could not be read";
    section.html += folded(title, table({{"file"}, {"byte", true}, {"message"}}, rows), rows.size() <= 10);
    if (rows.size() < run.bad_samples.size()) section.html += note("data-errors.csv has them all.");
  }
  if (!run.warnings.empty()) {
    const std::size_t most = std::min(kMaxRows, run.warnings.size());
    const std::vector<std::string> lines(run.warnings.begin(),
                                         run.warnings.begin() + static_cast<std::ptrdiff_t>(most));
    section.html += folded(counted(run.warnings.size(), "warning"), preformatted(join(lines, "\n")), most <= 10);
    if (most < run.warnings.size()) section.html += note("train.log has them all.");
  }
  return section;
}

Section config_section(const RunRecord& run) {
  Section section{.id = "config", .title = "Config and environment"};
  Fields origin{{"folder", run.folder}};
  for (const std::string& line : split(trim(run.command), '\n'))  // one per start
    if (!line.empty()) origin.emplace_back(origin.size() == 1 ? "command" : "resumed by", line);
  section.html += pairs(origin);
  if (!run.changed.empty())
    section.html += element("h3", "", "Keys of the config that flags changed") + "\n" + pairs(run.changed);
  if (!run.config.empty()) section.html += folded("config.yaml, the file as written", preformatted(run.config));
  section.html += folded("config.resolved.yaml, with every default", preformatted(run.resolved));
  section.html +=
      run.environment.empty() ? note("The run has no env.json.") : folded("Environment", pairs(run.environment));
  return section;
}

}  // namespace dptrain::report
