#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "report/record.h"
#include "train/line_file.h"
#include "train/run_directory.h"

namespace dptrain::report {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

template <class T>
std::optional<T> optional_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? std::nullopt : std::optional<T>(found->get<T>());
}

/// A string as it is; a number or a list of numbers as text.
std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return fmt::format("{:.6g}", found->is_null() ? std::nan("") : found->get<double>());
  std::vector<std::string> parts;
  for (const Json& one : *found)
    parts.push_back(fmt::format("{:.5g}", one.is_null() ? std::nan("") : one.get<double>()));
  return join(parts, ", ");
}

plot::ClassBar bar_of(const Json& json) {
  return {.name = json.value("name", ""),
          .samples = json.value("support", std::int64_t{0}),
          .precision = optional_of<double>(json, "precision"),
          .recall = optional_of<double>(json, "recall"),
          .f1 = optional_of<double>(json, "f1"),
          .iou = optional_of<double>(json, "iou")};
}

/// The counts of a confusion.csv with `classes` classes; empty for any other table.
std::vector<std::int64_t> counts_in(const fs::path& file, std::size_t classes) {
  const std::vector<std::vector<std::string>> rows = csv_rows(train::read_text(file.string()));
  if (rows.size() != classes + 1) return {};
  std::vector<std::int64_t> counts;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r].size() != classes + 1) return {};
    for (std::size_t c = 1; c < rows[r].size(); ++c) {
      counts.push_back(parse_number<std::int64_t>(rows[r][c]).value_or(-1));
      if (counts.back() < 0) return {};
    }
  }
  return counts;
}

/// The label and answer columns of a predicted.csv, by value. Empty if the file is missing or has other columns.
std::vector<plot::ValuePairs> values_in(const fs::path& file) {
  const std::vector<std::vector<std::string>> rows = csv_rows(train::read_text(file.string()));
  if (rows.empty() || rows.front().size() < 3 || rows.front().size() % 2 == 0) return {};
  std::vector<plot::ValuePairs> all(rows.front().size() / 2);
  for (std::size_t i = 0; i < all.size() && all.size() > 1; ++i) all[i].name = fmt::format("value {}", i + 1);
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r].size() != rows.front().size()) return {};
    for (std::size_t c = 1; c < rows[r].size(); ++c) {
      const auto value = parse_number<double>(rows[r][c]);
      if (!value) return {};
      plot::ValuePairs& pairs = all[(c - 1) / 2];
      (c % 2 == 1 ? pairs.labels : pairs.answers).push_back(*value);
    }
  }
  return all;
}

/// The images of a contact sheet, in order; none if one is invalid.
std::vector<std::string> images_in(const fs::path& file) {
  const std::string sheet = train::read_text(file.string());
  constexpr std::string_view kBegin = "href=\"data:image/png;base64,";
  std::vector<std::string> images;
  for (std::size_t at = sheet.find(kBegin); at != std::string::npos; at = sheet.find(kBegin, at)) {
    at += kBegin.size();
    const std::size_t end = std::min(sheet.find('"', at), sheet.size());
    const std::string bytes = sheet.substr(at, end - at);
    const bool sound = std::ranges::all_of(bytes, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
             c == '=';
    });
    if (!sound) return {};
    images.push_back("data:image/png;base64," + bytes);
  }
  return images;
}

std::vector<WorstRecord> worst_of(const Json& list, const std::vector<std::string>& images) {
  std::vector<WorstRecord> all;
  const std::size_t each = list.empty() || images.size() % list.size() != 0 ? 0 : images.size() / list.size();
  for (const Json& one : list) {
    WorstRecord worst{
        .sample = text_of(one, "sample"), .label = text_of(one, "label"), .answer = text_of(one, "answer")};
    worst.probability = optional_of<double>(one, "probability");
    worst.loss = optional_of<double>(one, "loss");
    worst.error = optional_of<double>(one, "error");
    worst.wrong = optional_of<std::int64_t>(one, "wrong");
    worst.positions = optional_of<std::int64_t>(one, "positions");
    worst.contents = one.value("holds", std::vector<std::string>{});
    const auto first = images.begin() + static_cast<std::ptrdiff_t>(all.size() * each);
    worst.images.assign(first, first + static_cast<std::ptrdiff_t>(each));
    all.push_back(std::move(worst));
  }
  return all;
}

/// `on`: the data set in the file names, or "".
OutputRecord output_of(const Json& json, const fs::path& folder, const std::string& name, const std::string& on) {
  OutputRecord output{.name = name};
  const auto file = [&](const char* stem, const char* suffix) {
    return folder / experiment::evaluation_file(stem, name, on, suffix);
  };
  for (const Json& one : json.value("classes", Json::array())) output.classes.push_back(bar_of(one));
  if (!output.classes.empty()) {
    output.macro = bar_of(json.value("macro", Json::object()));
    output.macro.name = "mean";
    for (const plot::ClassBar& one : output.classes) output.macro.samples += one.samples;
    output.counts = counts_in(file("confusion", ".csv"), output.classes.size());
  }
  if (const auto map = json.find("map"); map != json.end())
    output.map_pixels = map->at(0).get<std::int64_t>() * map->at(1).get<std::int64_t>();
  if (output.classes.empty()) output.values = values_in(file("predicted", ".csv"));
  output.worst = worst_of(json.value("worst", Json::array()), images_in(file("worst", ".svg")));
  return output;
}

EvaluationRecord evaluation_of(const fs::path& folder, const std::string& name, const std::string& on) {
  const Json json = Json::parse(train::read_text((folder / name).string()));
  EvaluationRecord found{.file = name,
                         .checkpoint = json.value("checkpoint", ""),
                         .on = json.value("on", ""),
                         .samples = json.value("n", std::int64_t{0})};
  for (const auto& [key, value] : json.items())
    if (key != "n" && key != "examples_per_second" && (value.is_number() || value.is_null()))
      found.values.emplace_back(key, value.is_null() ? std::nan("") : value.get<double>());
  if (const auto outputs = json.find("outputs"); outputs != json.end())
    for (const auto& [output, inside] : outputs->items())
      found.outputs.push_back(output_of(inside, folder, output, on));
  else
    found.outputs.push_back(output_of(json, folder, "", on));
  return found;
}

/// Whether the run's weights are newer than a file in its folder.
bool is_old(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::file_time_type saved = fs::last_write_time(train::RunDirectory::weights_of(folder.string()), error);
  if (error) return false;
  const fs::file_time_type written = fs::last_write_time(folder / name, error);
  return error || written < saved;
}

}  // namespace

std::vector<EvaluationRecord> read_evaluations(const std::string& folder) {
  std::vector<EvaluationRecord> all;
  for (const char* const on : {"", "validation", "train"}) {
    const std::string name = experiment::evaluation_file("eval", "", on, ".json");
    std::error_code ignored;
    if (!fs::exists(fs::path(folder) / name, ignored)) continue;
    try {
      all.push_back(evaluation_of(folder, name, on));
      all.back().old = is_old(folder, name);
    } catch (const std::exception& unreadable) {
      log::warn(fmt::format("{} is skipped: {}", (fs::path(folder) / name).string(), unreadable.what()));
    }
  }
  return all;
}

}  // namespace dptrain::report
