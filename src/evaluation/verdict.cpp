#include "evaluation/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::evaluation {
namespace {

std::string number_of(double value) { return std::isnan(value) ? "-" : number_text(value); }

std::string interval_of(const Verdict& verdict) {
  return verdict.interval ? fmt::format("{:.4f} .. {:.4f}", verdict.interval->low, verdict.interval->high) : "-";
}

/// Percent-encoded as GitHub's workflow commands require; in a property also ':' and ','.
std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c))) : std::string(1, c);
  }
  return out;
}

/// Width in characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string number_text(double value) {
  constexpr double kMax = 1e15;  // whole numbers up to here are exact
  return value == std::trunc(value) && std::abs(value) < kMax ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.6g}", value);
}

bool any_failed(const std::vector<Verdict>& verdicts) {
  return std::ranges::any_of(verdicts, [](const Verdict& verdict) { return verdict.failed; });
}

std::string word_of(const Verdict& verdict) {
  if (verdict.failed) return "FAILED";
  return verdict.proven ? "ok" : "not proven";
}

std::string table_of(const std::vector<Verdict>& verdicts) {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows{{"gate", "found", "interval", "limit", "verdict"}};
  for (const Verdict& verdict : verdicts)
    rows.push_back(
        {printable(verdict.gate), number_of(verdict.found), interval_of(verdict), verdict.limit, word_of(verdict)});
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += row[i] + std::string(widths[i] + 2 - width_of(row[i]), ' ');
    lines.push_back(line + row.back());
  }
  return join(lines, "\n");
}

std::string junit_of(const std::vector<Verdict>& verdicts, const std::string& suite, const std::string& skip_reason) {
  const auto failures = std::ranges::count_if(verdicts, [](const Verdict& verdict) { return verdict.failed; });
  const auto unproven = std::ranges::count_if(verdicts, [](const Verdict& verdict) { return !verdict.proven; });
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml +=
      fmt::format("<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
                  xml_text(suite), verdicts.size() + (skip_reason.empty() ? 0 : 1), failures,
                  unproven + (skip_reason.empty() ? 0 : 1));
  for (const Verdict& verdict : verdicts) {
    const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{} {}\"", xml_text(suite),
                                         xml_text(verdict.gate), xml_text(verdict.limit));
    if (!verdict.failed) {
      xml += verdict.proven ? head + "/>\n"
                            : head + ">\n      <skipped message=\"not proven: the interval " + interval_of(verdict) +
                                  " contains the limit\"/>\n    </testcase>\n";
      continue;
    }
    const std::string place = verdict.place.known() ? verdict.place.str() + ": " : "";
    xml += fmt::format("{}>\n      <failure message=\"{}\">{}{}</failure>\n    </testcase>\n", head,
                       xml_text(verdict.message), xml_text(place), xml_text(verdict.message));
  }
  if (!skip_reason.empty())
    xml += fmt::format(
        "    <testcase classname=\"{}\" name=\"gates\">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
        xml_text(suite), xml_text(skip_reason));
  return xml + "  </testsuite>\n</testsuites>\n";
}

std::vector<std::string> annotations_of(const std::vector<Verdict>& verdicts) {
  std::vector<std::string> lines;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.failed) continue;
    std::string place;
    if (verdict.place.known())
      place = fmt::format("file={},line={},", escaped(verdict.place.source->name, true), verdict.place.line);
    lines.push_back(fmt::format("::error {}title={}::{}", place, escaped("gate " + verdict.gate, true),
                                escaped(verdict.message, false)));
  }
  return lines;
}

}  // namespace dptrain::evaluation
