#include <algorithm>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "picture/drawing.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/sections.h"

namespace dptrain::report {
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

Section trouble_section(const RunRecord& run) {
  constexpr std::size_t kMostRows = 200;
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
    for (std::size_t i = 0; i < std::min(kMostRows, run.bad_samples.size()); ++i) {
      std::vector<std::string> row;
      for (const std::string& field : run.bad_samples[i]) row.push_back(escaped(field));
      rows.push_back(std::move(row));
    }
    const std::string title = counted(run.bad_samples.size(), "sample") + " could not be read";
    section.html += folded(title, table({{"file"}, {"byte", true}, {"message"}}, rows), rows.size() <= 10);
    if (rows.size() < run.bad_samples.size()) section.html += note("data-errors.csv has them all.");
  }
  if (!run.warnings.empty()) {
    const std::size_t most = std::min(kMostRows, run.warnings.size());
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
  for (const std::string& line : split(trim(run.command), '\n'))  // one for each start
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
