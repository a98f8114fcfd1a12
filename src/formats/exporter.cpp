#include "formats/exporter.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::formats {
namespace {

std::vector<Exporter>& family() {
  static std::vector<Exporter> all;  // local, so that it exists before the first registration
  return all;
}

bool has_one_of(const std::string& path, const std::vector<std::string>& suffixes) {
  return std::ranges::any_of(suffixes, [&](const std::string& suffix) { return path.ends_with(suffix); });
}

}  // namespace

bool Exporter::matches(const std::string& path) const {
  return has_one_of(path, suffixes) && !has_one_of(path, others);
}

const std::vector<Exporter>& exporters() { return family(); }

std::string known_suffixes() {
  std::vector<std::string> all;
  for (const Exporter& exporter : exporters())
    all.push_back(join(exporter.suffixes, ", ") + " (" + exporter.name + ")");
  return join(all, " or ");
}

const Exporter* find_exporter(const std::string& path) {
  const auto found =
      std::ranges::find_if(exporters(), [&](const Exporter& exporter) { return exporter.matches(path); });
  return found == exporters().end() ? nullptr : &*found;
}

const Exporter& exporter_of(const std::string& path) {
  const Exporter* exporter = find_exporter(path);
  if (exporter == nullptr)
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}': the suffix is not that of a model format; expected {}", path, known_suffixes()));
  return *exporter;
}

RegisteredExporter::RegisteredExporter(Exporter exporter) {
  if (!exporter.advice)
    exporter.advice = [](const std::string&, const graph::Graph&) { return std::vector<std::string>(); };
  const auto place = std::ranges::upper_bound(family(), exporter.name, {}, &Exporter::name);
  family().insert(place, std::move(exporter));
}

}  // namespace dptrain::formats
