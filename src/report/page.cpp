#include "report/page.h"

#include "core/format.h"
#include "core/text.h"
#include "report/comparison.h"
#include "report/html.h"
#include "report/numbers.h"
#include "report/sections.h"
#include "report/style.h"
#include "train/curves.h"
#include "train/line_file.h"

namespace dptrain::report {
namespace {

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

/// A run among others: folded, with less large headings.
std::string part_of(const RunRecord& run, std::size_t number) {
  const std::string id = fmt::format("run{}", number);
  std::string body = overview(run);
  for (const Section& section : sections_of(run))
    body += heading("h3", id + "-" + section.id, section.title) + section.html;
  const std::string facts = exit_word(run) + (run.result && !run.date.empty() ? ", " + date_text(run.date) : "");
  // A browser unfolds what a link leads into.
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

}  // namespace dptrain::report
