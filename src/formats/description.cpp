#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "formats/checkpoint/weights.h"
#include "formats/contents.h"
#include "formats/keras/keras_definition.h"

namespace dptrain::formats {
namespace {

/// JSON from a file, of bounded depth.
nlohmann::json parse(const std::string& text) { return nlohmann::json::parse(text, nullptr, false); }

std::string headline(const FileContents& contents) {
  const Hdf5Group& root = contents.root;
  std::string kind;
  if (contents.has_state()) {
    const Hdf5Group state = root.group(kStateGroup);
    kind = fmt::format("dptrain checkpoint, format {}, dptrain {}", state.number("format").value_or(0),
                       printable(state.text("dptrain_version").value_or("of unknown version")));
  } else {
    const bool model = !contents.model_config().empty();
    const char* const what = model ? "Keras model" : contents.tensors ? "weights" : "Keras weights";
    kind = fmt::format("{}, {}", what, printable(contents.stored().layout));
  }
  return fmt::format("{}: {}, {}, {}\n", contents.file().name(), kind, human_bytes(contents.size),
                     contents.sealed ? "checksum good" : "without checksum");
}

/// Class of each layer by name, from model_config.
std::map<std::string, std::string> classes(const nlohmann::json& model) {
  std::map<std::string, std::string> all;
  const nlohmann::json& layers = at(at(model, "config"), "layers");
  if (!layers.is_array()) return all;
  for (const nlohmann::json& layer : layers) {
    std::string name = text_at(layer, "name");
    if (name.empty()) name = text_at(at(layer, "config"), "name");  // Sequential of Keras 2
    all.emplace(std::move(name), text_at(layer, "class_name"));
  }
  return all;
}

using Row = std::array<std::string, 4>;

/// `has_numbers`: whether the third column is aligned to the right.
std::string aligned_rows(const std::vector<Row>& rows, bool has_numbers) {
  std::array<std::size_t, 4> width{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    const std::string third =
        has_numbers ? fmt::format("{:>{}}", row[2], width[2]) : fmt::format("{:<{}}", row[2], width[2]);
    text += fmt::format("  {:<{}}  {:<{}}  {}  {}\n", row[0], width[0], row[1], width[1], third, row[3]);
  }
  return text;
}

std::string layer_table(const FileContents& contents) {
  const nlohmann::json model = parse(contents.model_config());
  const std::map<std::string, std::string> class_of = classes(model);
  std::vector<Row> rows{{"Layer", "Class", "Param #", "Weights"}};
  std::int64_t total = 0;
  const std::vector<StoredLayer> layers = contents.layers();
  for (const StoredLayer& layer : layers) {
    std::int64_t parameters = 0;
    std::vector<std::string> weights;
    for (std::size_t i = 0; i < layer.weights.size(); ++i) {
      const Shape shape = layer.weights[i].shape();
      parameters += shape.elements();
      weights.push_back(fmt::format("{} {}", printable(layer.short_name(i)), shape.str()));
    }
    total += parameters;
    const auto found = class_of.find(layer.name);
    rows.push_back({printable(layer.full_name()), found == class_of.end() ? "-" : printable(found->second),
                    with_commas(parameters), weights.empty() ? "-" : join(weights, ", ")});
  }
  const std::string name = text_at(at(model, "config"), "name");
  return fmt::format("model {} ({})\n{}{}, {}\n", name.empty() ? "without a name" : printable(name),
                     model.is_object() ? printable(text_at(model, "class_name")) : "weights only",
                     aligned_rows(rows, true), counted(layers.size(), "layer"), counted(total, "parameter"));
}

/// Adds a line ("epoch: 5") for each key of the trainer's JSON, at any depth, that states progress or best values.
void collect_position(const nlohmann::ordered_json& json, const std::string& path, int depth,
                      std::vector<std::string>& lines) {
  static const std::set<std::string> telling{"epoch", "epochs", "step", "steps", "samples", "seed", "learning_rate"};
  if (depth > 6 || lines.size() >= 40 || !json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const std::string here = path.empty() ? key : path + "." + key;
    if (value.is_object()) collect_position(value, here, depth + 1, lines);
    const bool scalar = value.is_number() || value.is_string() || value.is_boolean();
    if (scalar && (telling.count(key) != 0 || here.find("best") != std::string::npos))
      lines.push_back(fmt::format("  {}: {}", printable(here),
                                  printable(value.is_string() ? value.get<std::string>() : value.dump())));
  }
}

std::string training(const FileContents& contents) {
  std::string text;
  const nlohmann::json compiled = parse(contents.training_config());
  const nlohmann::json& optimizer = at(compiled, "optimizer_config");
  if (optimizer.is_object()) {
    const nlohmann::json& rate = at(at(optimizer, "config"), "learning_rate");
    text += fmt::format("optimizer: {}{}\n", printable(text_at(optimizer, "class_name")),
                        rate.is_number() ? ", learning rate " + shortest(rate.get<double>()) : "");
  }
  if (!contents.has_state()) return text;

  std::vector<std::string> slots;
  std::uint64_t count = 0, elements = 0;
  for (const auto& [name, dataset] : contents.arrays()) {
    const std::string slot = printable(name.substr(0, name.find('/')));
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
    elements += dataset.elements();
    ++count;
  }
  if (count != 0)
    text += fmt::format("state: {} ({} arrays, {} numbers)\n", join(slots, ", "), count,
                        with_commas(static_cast<std::int64_t>(elements)));
  std::vector<std::string> lines;
  collect_position(nlohmann::ordered_json::parse(contents.trainer(), nullptr, false), "", 0, lines);
  if (!lines.empty()) text += "position:\n" + join(lines, "\n") + "\n";
  return text;
}

std::string class_list(const FileContents& contents) {
  constexpr std::size_t kMax = 20;
  const ClassNames all = contents.class_names();
  std::string text;
  for (const ClassNames::Entry& entry : all.entries()) {
    std::vector<std::string> names = entry.names;
    names.resize(std::min(names.size(), kMax));
    for (std::string& name : names) name = printable(name);
    text += fmt::format("classes{} ({}): {}{}\n", entry.output.empty() ? "" : " of " + printable(entry.output),
                        entry.names.size(), join(names, ", "), entry.names.size() > kMax ? ", ..." : "");
  }
  return text;
}

}  // namespace

std::string describe_file(const std::string& path) { return describe_file(FileContents::open(path)); }

std::string describe_file(const FileContents& contents) {
  return headline(contents) + layer_table(contents) + class_list(contents) + training(contents);
}

namespace {

using ReportedStatus = WeightsReport::LoadStatus;

std::string names(const WeightsReport& report, ReportedStatus status) {
  constexpr std::size_t kMax = 6;
  std::vector<std::string> all;
  for (const WeightsReport::Row& row : report.rows)
    if (row.status == status) all.push_back(printable(row.layer));
  const std::size_t count = all.size();
  all.resize(std::min(count, kMax));
  return join(all, ", ") + (count > kMax ? fmt::format(" and {} more", count - kMax) : "");
}

std::string word(ReportedStatus status) {
  switch (status) {
    case ReportedStatus::kLoaded: return "loaded";
    case ReportedStatus::kPartly: return "partly";
    case ReportedStatus::kInitialised: return "initialised";
    case ReportedStatus::kUnused: return "unused";
  }
  return "";
}

}  // namespace

std::size_t WeightsReport::count(ReportedStatus status) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.status == status; }));
}

std::string WeightsReport::line() const {
  std::string text = fmt::format("{}: {} of {} layers {}", std::filesystem::path(file).filename().string(),
                                 count(ReportedStatus::kLoaded), rows.size() - count(ReportedStatus::kUnused), how);
  if (count(ReportedStatus::kPartly) != 0) text += "; partly: " + names(*this, ReportedStatus::kPartly);
  if (count(ReportedStatus::kInitialised) != 0) text += "; initialised: " + names(*this, ReportedStatus::kInitialised);
  if (count(ReportedStatus::kUnused) != 0) text += "; unused in the file: " + names(*this, ReportedStatus::kUnused);
  return text;
}

std::string WeightsReport::table() const {
  std::string text = fmt::format("{} ({}), {}\n", file, printable(layout), how);
  for (const std::string& note : notes) text += "  " + printable(note) + "\n";
  std::vector<std::array<std::string, 4>> lines{{"Layer", "Weights", "From the file", "Shapes"}};
  for (const Row& row : rows) {
    const std::string source = row.status == ReportedStatus::kUnused ? "-"
                               : row.source.empty()                  ? "-"
                                                                     : printable(row.source);
    lines.push_back({printable(row.layer), word(row.status), source,
                     printable(row.shapes) + (row.reason.empty() ? "" : fmt::format("  ({})", printable(row.reason)))});
  }
  return text + aligned_rows(lines, false);
}

}  // namespace dptrain::formats
