#include <algorithm>
#include <array>
#include <filesystem>

#include "checkpoint/weights.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::checkpoint {
namespace {

using ReportedFate = WeightsReport::Fate;

std::string names(const WeightsReport& report, ReportedFate fate) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> all;
  for (const WeightsReport::Row& row : report.rows)
    if (row.fate == fate) all.push_back(printable(row.layer));
  const std::size_t count = all.size();
  all.resize(std::min(count, kMost));
  return join(all, ", ") + (count > kMost ? fmt::format(" and {} more", count - kMost) : "");
}

std::string word(ReportedFate fate) {
  switch (fate) {
    case ReportedFate::kLoaded: return "loaded";
    case ReportedFate::kPartly: return "partly";
    case ReportedFate::kInitialised: return "initialised";
    case ReportedFate::kUnused: return "unused";
  }
  return "";
}

}  // namespace

std::size_t WeightsReport::count(ReportedFate fate) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.fate == fate; }));
}

std::string WeightsReport::line() const {
  std::string text = fmt::format("{}: {} of {} layers {}", std::filesystem::path(file).filename().string(),
                                 count(ReportedFate::kLoaded), rows.size() - count(ReportedFate::kUnused), how);
  if (count(ReportedFate::kPartly) != 0) text += "; partly: " + names(*this, ReportedFate::kPartly);
  if (count(ReportedFate::kInitialised) != 0) text += "; initialised: " + names(*this, ReportedFate::kInitialised);
  if (count(ReportedFate::kUnused) != 0) text += "; unused in the file: " + names(*this, ReportedFate::kUnused);
  return text;
}

std::string WeightsReport::table() const {
  std::string text = fmt::format("{} ({}), {}\n", file, printable(layout), how);
  for (const std::string& note : notes) text += "  " + printable(note) + "\n";
  std::vector<std::array<std::string, 4>> lines{{"Layer", "Weights", "From the file", "Shapes"}};
  for (const Row& row : rows) {
    const std::string source = row.fate == ReportedFate::kUnused ? "-"
                               : row.source.empty()              ? "-"
                                                                 : printable(row.source);
    lines.push_back({printable(row.layer), word(row.fate), source,
                     printable(row.shapes) + (row.reason.empty() ? "" : fmt::format("  ({})", printable(row.reason)))});
  }
  std::array<std::size_t, 3> width{};
  for (const auto& line : lines)
    for (std::size_t i = 0; i < width.size(); ++i) width[i] = std::max(width[i], line[i].size());
  for (const auto& line : lines)
    text +=
        fmt::format("  {:<{}}  {:<{}}  {:<{}}  {}\n", line[0], width[0], line[1], width[1], line[2], width[2], line[3]);
  return text;
}

}  // namespace dptrain::checkpoint
