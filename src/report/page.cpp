#include "report/page.h"

#include <algorithm>
#include <string>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "plot/chart.h"
#include "plot/drawing.h"
#include "plot/svg.h"
#include "plot/text_width.h"
#include "report/html.h"
#include "report/sections.h"
#include "train/curves.h"
#include "train/line_file.h"

namespace dptrain::report {
namespace {

/// CSS variables: "--text:#1c2024;..."
std::string variables(bool dark) {
  std::string all = dark ? "--tint:#1d2227;" : "--tint:#f5f7f8;";
  for (const plot::Hue& one : plot::hues()) all += fmt::format("--{}:#{:06x};", one.name, dark ? one.dark : one.light);
  return all;
}

constexpr const char* kRules = R"css(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--text);font:16px/1.55 var(--face)}
main{max-width:1180px;margin:0 auto;padding:2.2rem 1.5rem 4rem}
h1{font-size:2rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.015em;overflow-wrap:anywhere}
h2{font-size:1.3rem;margin:2.2rem 0 .8rem;padding-top:1.1rem;border-top:1px solid var(--grid);letter-spacing:-.01em}
h3{font-size:1.05rem;margin:1.8rem 0 .6rem}
p{margin:.4rem 0 .8rem;max-width:75ch}
a{color:var(--right);text-decoration:none}
a:hover{text-decoration:underline}
.lead{color:var(--muted);margin:.5rem 0 1rem;max-width:none;overflow-wrap:anywhere}
.note{color:var(--muted)}
.chip{display:inline-block;padding:.1rem .65rem;border-radius:1rem;border:1px solid currentColor;font-size:.85rem;font-weight:600;margin-right:.6rem;color:var(--right)}
.chip.bad{color:var(--wrong)}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.92rem;margin:1.4rem 0 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(160px,1fr));gap:.8rem;margin:1.4rem 0 0}
.tile{background:var(--tint);border-radius:.6rem;padding:.8rem 1rem;min-width:0}
.tile b{display:block;font-size:1.45rem;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tile span{display:block;color:var(--muted);font-size:.82rem;overflow-wrap:break-word}
.wide{overflow-x:auto;margin:.6rem 0 1rem}
.wide table{width:max-content;max-width:max(100%,60rem)}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.34rem 1.1rem .34rem 0;border-bottom:1px solid var(--grid);vertical-align:top}
thead th{color:var(--muted);font-weight:600;font-size:.82rem;vertical-align:bottom;border-bottom-color:var(--axis)}
th.number,td.number{text-align:right}
td.number{white-space:nowrap}
td.number+td:not(.number),th.number+th:not(.number){padding-left:.6rem}
.pairs th{font-weight:400;color:var(--muted)}
.pairs th,.pairs td{overflow-wrap:break-word;min-width:5rem}
.best{font-weight:700;color:var(--right)}
.best::after{content:" ●";font-size:.6em;vertical-align:.25em}
code,pre{font:.86em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace}
pre{background:var(--tint);border-radius:.6rem;padding:.8rem 1rem;overflow-x:auto;margin:.5rem 0 1rem;max-height:32rem;overflow-y:auto}
figure{margin:.6rem 0 1.2rem;overflow-x:auto}
figure svg{display:block;max-width:100%;height:auto}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.2rem 2rem;margin:.6rem 0 1.2rem}
.charts figure{margin:0}
.charts svg{width:100%}
.names{display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;margin:.4rem 0 .8rem;font-size:.82rem}
.names span{display:inline-flex;align-items:center;gap:.45rem;min-width:0;overflow-wrap:anywhere}
.names svg{flex:none}
.names small{color:var(--muted);font-size:1em}
.side{display:grid;gap:0 2.5rem;align-items:start}.side>*{min-width:0}
.side>.huge{grid-column:1/-1}
details{margin:.5rem 0}
summary{cursor:pointer;padding:.3rem 0;color:var(--right)}
details.run{border:1px solid var(--grid);border-radius:.6rem;padding:.2rem 1.1rem;margin:.7rem 0}
details.run>summary{color:var(--text);font-weight:600}
details.run>summary span{color:var(--muted);font-weight:400;margin-left:.6rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(168px,1fr));gap:.8rem;margin:.8rem 0}
.cards.words{grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr))}
.cards.clips{grid-template-columns:repeat(auto-fill,minmax(min(100%,420px),1fr))}
.cards.maps{grid-template-columns:repeat(auto-fill,minmax(min(100%,600px),1fr))}
.card{background:var(--tint);border-radius:.6rem;padding:.7rem .8rem;font-size:.88rem;line-height:1.4;min-width:0;overflow-wrap:anywhere}
.card .images{display:flex;gap:.3rem;margin-bottom:.5rem}
.card img{display:block;flex:1 1 0;min-width:0;width:100%;max-height:190px;object-fit:contain;border-radius:.3rem}
.card img.pixels{image-rendering:pixelated}
.card small{display:block;color:var(--muted)}
.card pre{background:none;padding:0;margin:.5rem 0 0;white-space:pre-wrap;max-height:14rem}
.label,.answer{unicode-bidi:isolate}
.label{color:var(--right);font-weight:600}
.answer{color:var(--wrong);font-weight:600}
.bar{display:flex;height:1.7rem;border-radius:.45rem;overflow:hidden;margin:.8rem 0;gap:2px}
.bar span{display:block;min-width:1px}
.swatch{display:inline-block;width:.8rem;height:.8rem;border-radius:.2rem;margin-right:.55rem;vertical-align:-.05rem}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--grid);color:var(--muted);font-size:.85rem}
@media (max-width:640px){main{padding:1.2rem 1rem 3rem}h1{font-size:1.5rem}.tiles{grid-template-columns:repeat(auto-fill,minmax(128px,1fr))}.tile b{font-size:1.2rem}}
.side>div>figure svg{width:100%}
@media (min-width:960px){.side{grid-template-columns:3fr 2fr}}
@media (max-width:480px){figure.large svg{min-width:30rem}}
@media print{body{font-size:10.5pt}main{max-width:none;padding:0}nav{display:none}h2,h3{break-after:avoid}figure,.card,.tile,tr,.bar{break-inside:avoid}figure{overflow:visible}figure svg{max-height:23cm;margin:auto;min-width:0}pre{max-height:none;white-space:pre-wrap;overflow:visible}.wide{overflow:visible}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)css";

/// Style sheet of the page and its pictures: light or dark like the reader's system, light in print.
std::string style_sheet() {
  return fmt::format(
      "{4}:root{{color-scheme:light dark;--face:{5};{0}}}\n@media (prefers-color-scheme:dark){{:root{{{1}}}}}\n"
      "@media print{{:root{{color-scheme:light;{0}}}}}{2}{3}",
      variables(false), variables(true), kRules, plot::svg_style_sheet(), plot::kFallbackFontRule, plot::kFontFamilies);
}

std::string link(const std::string& id, const std::string& title) {
  return fmt::format("<a href=\"#{}\">{}</a>\n", id, escaped(title));
}

std::string heading(const char* tag, const std::string& id, const std::string& title) {
  return fmt::format("<{0} id=\"{1}\">{2}</{0}>\n", tag, id, escaped(title));
}

std::string one_run(const std::string& title, const RunRecord& run) {
  std::string links, body;
  for (const Section& section : sections_of(run)) {
    links += link(section.id, section.title);
    body += "<section>\n" + heading("h2", section.id, section.title) + section.html + "</section>\n";
  }
  return element("h1", "", escaped(title)) + "\n" + overview(run) + element("nav", "", "\n" + links) + "\n" + body;
}

/// The part of one of several runs: folded, with smaller headings.
std::string part_of(const RunRecord& run, std::size_t number) {
  const std::string id = fmt::format("run{}", number);
  std::string body = overview(run);
  for (const Section& section : sections_of(run))
    body += heading("h3", id + "-" + section.id, section.title) + section.html;
  const std::string facts = exit_word(run) + (run.result && !run.date.empty() ? ", " + date_text(run.date) : "");
  // A browser unfolds an element if a link targets its inside.
  return folded(escaped(run.name) + element("span", "", escaped(facts)),
                fmt::format("<div id=\"{}\">\n{}</div>\n", id, body), false, "run");
}

std::string several_runs(const std::string& title, const std::vector<RunRecord>& runs) {
  std::string html = element("h1", "", escaped(title)) + "\n" +
                     element("p", "lead", fmt::format("{} runs side by side", runs.size())) + "\n";
  html += element("nav", "",
                  "\n" + link("runs", "Runs") + link("curves", "Learning curves") +
                      link("differences", "What differs") + link("each", "Each run")) +
          "\n";
  html += heading("h2", "runs", "Runs") + runs_table(runs);
  html += heading("h2", "curves", "Learning curves") + common_curves(runs);
  html += heading("h2", "differences", "What differs") + differences_table(runs);
  html += heading("h2", "each", "Each run");
  for (std::size_t i = 0; i < runs.size(); ++i) html += part_of(runs[i], i + 1);
  return html;
}

/// A column of the table of runs.
struct Figures {
  Column column;
  std::vector<std::optional<double>> values{};
  bool larger_is_better = false, marked = true;
  std::string (*text)(double) = metric_text;
};

std::vector<std::string> all_metrics(const std::vector<RunRecord>& runs) {
  std::vector<std::string> all;
  for (const RunRecord& run : runs)
    for (const std::string& metric : metrics_of(run))
      if (std::ranges::find(all, metric) == all.end()) all.push_back(metric);
  return all;
}

std::vector<Figures> figures_of(const std::vector<RunRecord>& runs) {
  std::vector<Figures> all;
  const bool validated = std::ranges::any_of(runs, is_validated);
  for (const std::string& metric : all_metrics(runs)) {
    const std::string column = (validated ? "val_" : "") + metric;
    Figures figures{.column = {"best " + column, true}};
    for (const RunRecord& run : runs) {
      if (run.curves && run.curves->direction_of(column) == nn::Direction::kLarger) figures.larger_is_better = true;
      const std::optional<Best> best = best_of(run, column);
      figures.values.push_back(best ? std::optional(best->value) : std::nullopt);
    }
    all.push_back(std::move(figures));
  }
  const auto add = [&](const char* title, const auto& value, std::string (*text)(double), bool larger, bool marked) {
    Figures figures{.column = {title, true}, .values = {}, .larger_is_better = larger, .marked = marked, .text = text};
    for (const RunRecord& run : runs) figures.values.push_back(value(run));
    all.push_back(std::move(figures));
  };
  const auto of_result = [](auto member) {
    return [member](const RunRecord& run) -> std::optional<double> {
      return run.result ? std::optional(static_cast<double>(run.result.value().*member)) : std::nullopt;
    };
  };
  add("epochs", of_result(&ResultRecord::epochs), count_text, false, false);
  add("time", of_result(&ResultRecord::seconds), duration_text, false, false);
  add("samples/s", of_result(&ResultRecord::examples_per_second), count_text, true, true);
  const auto parameters = [](const RunRecord& run) -> std::optional<double> {
    return run.layers.empty() ? std::nullopt : std::optional(static_cast<double>(run.parameters));
  };
  add("parameters", parameters, count_text, false, false);
  return all;
}

/// The value to mark as best; nothing if all values are equal or fewer than two are known.
std::optional<double> best_value(const Figures& figures) {
  std::vector<double> known;
  for (const std::optional<double>& value : figures.values)
    if (value) known.push_back(*value);
  if (!figures.marked || known.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(known);
  return *least == *most ? std::nullopt : std::optional(figures.larger_is_better ? *most : *least);
}

void compare(const std::vector<RunRecord>& runs, Fields RunRecord::*fields, const std::vector<std::string>& only,
             std::vector<Difference>& out) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs)
    for (const auto& [name, value] : run.*fields)
      if (std::ranges::find(names, name) == names.end() &&
          (only.empty() || std::ranges::find(only, name) != only.end()))
        names.push_back(name);
  for (const std::string& name : names) {
    Difference difference{.name = name, .values = {}};
    for (const RunRecord& run : runs) difference.values.push_back(value_of(run.*fields, name));
    if (std::ranges::adjacent_find(difference.values, std::not_equal_to{}) != difference.values.end())
      out.push_back(std::move(difference));
  }
}

std::string code(const std::string& text) { return text.empty() ? "" : element("code", "", escaped(text)); }

}  // namespace

std::string page(const std::string& title, const std::vector<RunRecord>& runs) {
  const std::string body = runs.size() == 1 ? one_run(title, runs.front()) : several_runs(title, runs);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{}"
      "<footer>Written by dptrain report.</footer>\n</main>\n</body>\n</html>\n",
      escaped(title), style_sheet(), body);
}

void write_page(const std::vector<std::string>& folders, const std::string& file) {
  const train::RunNames names = train::names_of_runs(folders);
  std::vector<RunRecord> runs;
  for (std::size_t i = 0; i < folders.size(); ++i) runs.push_back(read_record(folders[i], names.runs[i]));
  train::write_text(file, page(names.title.empty() ? "Runs of several experiments" : names.title, runs));
}

std::vector<Difference> differences(const std::vector<RunRecord>& runs) {
  std::vector<Difference> all;
  compare(runs, &RunRecord::settings, {}, all);
  compare(runs, &RunRecord::environment,
          {"dptrain", "git", "devices", "machine.host", "machine.cpu", "data_fingerprint"}, all);
  return all;
}

/// "units" for "model.layers.hidden.units"
std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string runs_table(const std::vector<RunRecord>& runs) {
  constexpr std::size_t kFew = 4;
  const std::vector<Figures> figures = figures_of(runs);
  std::vector<Difference> keys = differences(runs);
  if (keys.size() > kFew) keys.clear();
  std::vector<Column> columns{{"run"}, {"ended"}};
  for (const Difference& key : keys) {
    const std::string name = last_part(key.name);
    const bool is_taken =
        std::ranges::any_of(figures, [&](const Figures& one) { return one.column.title == name; }) ||
        std::ranges::count_if(keys, [&](const Difference& other) { return last_part(other.name) == name; }) > 1;
    columns.push_back({is_taken ? key.name : name});
  }
  for (const Figures& one : figures) columns.push_back(one.column);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    rows.push_back({fmt::format("<a href=\"#run{}\">{}</a>", i + 1, escaped(run.name)), escaped(exit_word(run))});
    for (const Difference& key : keys) rows.back().push_back(code(key.values[i]));
    for (const Figures& one : figures) {
      const std::optional<double>& value = one.values[i];
      const std::string text = value ? one.text(*value) : "";
      rows.back().push_back(value && value == best_value(one) ? element("span", "best", text) : text);
    }
  }
  return table(columns, rows);
}

std::string common_curves(const std::vector<RunRecord>& runs) {
  std::vector<train::RunCurves> curves;
  for (const RunRecord& run : runs)
    if (run.curves) curves.push_back(*run.curves);
  if (curves.empty()) return note("None of the runs has an epoch yet.");
  const std::string html = charts(train::curves_chart("", curves, false), "learning curves of all runs");
  if (!train::differ_in_length(curves)) return html;
  return html + folded("Over the share of each run's epochs, for runs of different length",
                       charts(train::curves_chart("", curves, false, train::EpochAxis::kShare),
                              "learning curves over the share of each run's epochs"));
}

std::string differences_table(const std::vector<RunRecord>& runs) {
  constexpr std::size_t kMaxColumns = 6, kMany = 30;
  const std::vector<Difference> all = differences(runs);
  if (all.empty()) return note("Nothing: configs and environments are equal.");
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  if (runs.size() <= kMaxColumns) {
    columns.push_back({"key"});
    for (const RunRecord& run : runs) columns.push_back({run.name});
    for (const Difference& one : all) {
      rows.push_back({code(one.name)});
      for (const std::string& value : one.values) rows.back().push_back(code(value));
    }
  } else {
    columns.push_back({"run"});
    for (const Difference& one : all) columns.push_back({one.name});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      rows.push_back({escaped(runs[i].name)});
      for (const Difference& one : all) rows.back().push_back(code(one.values[i]));
    }
  }
  const std::string html = table(columns, rows);
  return all.size() > kMany ? folded(fmt::format("{} keys", all.size()), html) : html;
}

}  // namespace dptrain::report
