#include "report/html.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/text.h"
#include "plot/svg.h"

namespace dptrain::report {

std::string escaped(const std::string& text) { return xml_text(text); }

std::string breakable(const std::string& text) {
  constexpr std::size_t kMin = 2;  // letters after a break: "samples/s" stays whole
  std::string html;
  const std::string whole = escaped(text);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    html += whole[i];
    const bool is_decimal = whole[i] == '.' && i + 1 < whole.size() && whole[i + 1] >= '0' && whole[i + 1] <= '9';
    if ((whole[i] == '.' || whole[i] == '/' || whole[i] == '_') && !is_decimal && whole.size() - i > kMin)
      html += "<wbr/>";
  }
  return html;
}

std::string preformatted(const std::string& text) {
  std::string lines = text;
  while (lines.ends_with('\n')) lines.pop_back();
  return "<pre>" + xml_text(lines, "\n\t") + "</pre>\n";
}

std::string element(const std::string& tag, const std::string& style, const std::string& html) {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, style.empty() ? "" : fmt::format(" class=\"{}\"", style), html);
}

std::string folded(const std::string& title_html, const std::string& html, bool open, const std::string& style) {
  return fmt::format("<details{}{}><summary>{}</summary>\n{}</details>\n",
                     style.empty() ? "" : fmt::format(" class=\"{}\"", style), open ? " open=\"open\"" : "", title_html,
                     html);
}

std::string note(const std::string& text) { return element("p", "note", escaped(text)) + "\n"; }

std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows_html) {
  const auto cell = [&](const char* tag, std::size_t column, const std::string& html) {
    return element(tag, column < columns.size() && columns[column].number ? "number" : "", html);
  };
  std::string out = "<div class=\"wide\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < columns.size(); ++c) out += cell("th", c, breakable(columns[c].title));
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : rows_html) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) out += cell("td", c, row[c]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string pairs(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string out = "<div class=\"wide\"><table class=\"pairs\"><tbody>\n";
  for (const auto& [name, value] : texts)
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", breakable(name), element("code", "", breakable(value)));
  return out + "</tbody></table></div>\n";
}

namespace {

/// Legend entries that wrap with the page.
std::string line_names(const std::vector<plot::LegendEntry>& entries) {
  if (entries.empty()) return "";
  std::string html;
  for (const plot::LegendEntry& entry : entries) {
    plot::Drawing sample(plot::sample_width(entry), 14);
    plot::draw_sample(entry, {0, 7}, sample);
    html += element("span", "",
                    plot::svg_element(sample, "") + escaped(entry.name) +
                        (entry.note.empty() ? "" : " " + element("small", "", escaped(entry.note))));
  }
  return element("div", "names", html) + "\n";
}

}  // namespace

std::string charts(const plot::Chart& chart, const std::string& label) {
  constexpr double kPanelWidth = 440;
  std::string figures;
  std::size_t i = 0;
  for (const plot::Drawing& drawing : plot::draw_panels(chart, kPanelWidth))
    figures += element("figure", "", plot::svg_element(drawing, chart.panels[i++].title + ", " + label)) + "\n";
  return line_names(chart.keys) + element("div", "charts", "\n" + figures) + "\n" + line_names(chart.legend);
}

std::string figure(const plot::Drawing& drawing, const std::string& label) {
  // Large figures scroll on a phone, where they would be unreadable; huge ones get a row of their own.
  constexpr double kLargePixels = 560, kHugePixels = 900;
  const std::string style = drawing.width() > kHugePixels    ? "large huge"
                            : drawing.width() > kLargePixels ? "large"
                                                             : "";
  return element("figure", style, plot::svg_element(drawing, label, true)) + "\n";
}

std::string count_text(double value) { return with_commas(static_cast<std::int64_t>(std::llround(value))); }

std::string exit_word(const RunRecord& run) {
  if (!run.result) return "not ended";
  std::string word = run.result->exit;
  std::ranges::replace(word, '_', ' ');
  return word;
}

std::string date_text(const std::string& time) {
  if (time.size() < 16) return time;
  return time.substr(0, 10) + " " + time.substr(11, 5) + " UTC";
}

std::optional<Best> best_of(const RunRecord& run, const std::string& column) {
  if (!run.curves) return std::nullopt;
  const std::vector<plot::Point>& points = run.curves->column(column);
  const auto best = train::best_of(points, run.curves->direction_of(column));
  if (!best) return std::nullopt;
  return Best{points[*best].y, static_cast<std::int64_t>(points[*best].x)};
}

std::optional<double> last_of(const RunRecord& run, const std::string& column) {
  if (!run.curves || run.curves->column(column).empty()) return std::nullopt;
  return run.curves->column(column).back().y;
}

std::vector<std::string> metrics_of(const RunRecord& run) {
  return run.curves ? run.curves->metrics() : std::vector<std::string>{};
}

bool is_validated(const RunRecord& run) {
  const auto has_best = [&](const std::string& metric) { return best_of(run, "val_" + metric).has_value(); };
  return std::ranges::any_of(metrics_of(run), has_best);
}

}  // namespace dptrain::report
