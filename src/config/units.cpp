// Durations and sizes: a number and a unit.

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "config/expression.h"
#include "config/json_fragment.h"
#include "config/value.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

struct Quantity {
  std::optional<double> number;
  std::string unit;
};

/// "0.5 epochs" -> 0.5, "epochs"; "30s" -> 30, "s"; "350" -> 350, "".
Quantity split_unit(const std::string& text) {
  std::size_t begin = text.size();
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  while (begin > 0 && letter(text[begin - 1])) --begin;
  const std::string number = trim(std::string_view(text).substr(0, begin));
  return {evaluate(number), text.substr(begin)};
}

struct DurationUnit {
  std::string_view word;
  Duration::Unit unit;
  double factor;
};
using Unit = Duration::Unit;
constexpr std::array<DurationUnit, 17> kDurationUnits{{
    {"steps", Unit::kSteps, 1},
    {"step", Unit::kSteps, 1},
    {"epochs", Unit::kEpochs, 1},
    {"epoch", Unit::kEpochs, 1},
    {"samples", Unit::kSamples, 1},
    {"sample", Unit::kSamples, 1},
    {"seconds", Unit::kSeconds, 1},
    {"second", Unit::kSeconds, 1},
    {"s", Unit::kSeconds, 1},
    {"minutes", Unit::kSeconds, 60},
    {"minute", Unit::kSeconds, 60},
    {"min", Unit::kSeconds, 60},
    {"m", Unit::kSeconds, 60},
    {"hours", Unit::kSeconds, 3600},
    {"hour", Unit::kSeconds, 3600},
    {"h", Unit::kSeconds, 3600},
    {"", Unit::kBare, 1},
}};

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 6> kSizeUnits{{
    {"TiB", std::uint64_t{1} << 40},
    {"GiB", std::uint64_t{1} << 30},
    {"MiB", std::uint64_t{1} << 20},
    {"KiB", std::uint64_t{1} << 10},
    {"B", 1},
    {"", 1},
}};

std::string counted(double number, const std::string& unit) {
  return fmt::format("{} {}{}", shortest(number), unit, number == 1 ? "" : "s");
}

std::string duration_text(const Duration& d) {
  switch (d.unit) {
    case Unit::kBare: return shortest(d.value);
    case Unit::kSteps: return counted(d.value, "step");
    case Unit::kEpochs: return counted(d.value, "epoch");
    case Unit::kSamples: return counted(d.value, "sample");
    case Unit::kSeconds: break;
  }
  if (d.value > 0 && std::fmod(d.value, 3600) == 0) return counted(d.value / 3600, "hour");
  if (d.value > 0 && std::fmod(d.value, 60) == 0) return counted(d.value / 60, "minute");
  return counted(d.value, "second");
}

}  // namespace

bool Value<Duration>::read(const Node& node, Reader& reader, Duration& out) {
  const Node found = reader.substituted(node);
  const Quantity quantity = found.is_scalar() ? split_unit(found.str()) : Quantity{};
  const auto unit = std::find_if(kDurationUnits.begin(), kDurationUnits.end(),
                                 [&](const DurationUnit& u) { return u.word == quantity.unit; });
  if (!quantity.number || unit == kDurationUnits.end()) {
    reader.expected(found, "a duration such as 10, 200 steps, 5 epochs, 1000 samples, 30s, 10 minutes or 2h");
    return false;
  }
  if (*quantity.number < 0) return reader.expected(found, ">= 0"), false;
  const bool counts = unit->unit == Unit::kBare || unit->unit == Unit::kSteps || unit->unit == Unit::kSamples;
  if (counts && *quantity.number != std::floor(*quantity.number)) {
    reader.expected(found, "a whole number" + (quantity.unit.empty() ? "" : " of " + quantity.unit));
    return false;
  }
  out = {*quantity.number * unit->factor, unit->unit};
  return true;
}
Node Value<Duration>::write(const Duration& value) { return Node::scalar(duration_text(value)); }
Node Value<Duration>::schema() { return fragment::number("number"); }

std::int64_t Duration::steps(std::int64_t steps_per_epoch, std::int64_t batch_size) const {
  switch (unit) {
    case Unit::kBare:
    case Unit::kSteps: return std::llround(value);
    case Unit::kEpochs: return std::llround(value * static_cast<double>(steps_per_epoch));
    case Unit::kSamples: return static_cast<std::int64_t>(std::ceil(value / static_cast<double>(batch_size)));
    case Unit::kSeconds: break;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("'{}' cannot be counted in steps; give steps, epochs or samples", duration_text(*this)));
}

bool Value<ByteSize>::read(const Node& node, Reader& reader, ByteSize& out) {
  const Node found = reader.substituted(node);
  const Quantity quantity = found.is_scalar() ? split_unit(found.str()) : Quantity{};
  const auto unit =
      std::find_if(kSizeUnits.begin(), kSizeUnits.end(), [&](const auto& u) { return u.first == quantity.unit; });
  const bool good = quantity.number && unit != kSizeUnits.end() && *quantity.number >= 0;
  const double bytes = good ? *quantity.number * static_cast<double>(unit->second) : -1;
  if (!good || bytes >= 0x1p63) {
    reader.expected(found, "a size such as 512 KiB, 25 MiB or 1 GiB");
    return false;
  }
  if (bytes != std::floor(bytes)) return reader.expected(found, "a whole number of bytes"), false;
  out.bytes = static_cast<std::uint64_t>(bytes);
  return true;
}
Node Value<ByteSize>::write(const ByteSize& value) {
  for (const auto& [word, factor] : kSizeUnits)
    if (factor > 1 && value.bytes >= factor && value.bytes % factor == 0)
      return Node::scalar(fmt::format("{} {}", value.bytes / factor, word));
  return Node::scalar(std::to_string(value.bytes));
}
Node Value<ByteSize>::schema() { return fragment::number("integer"); }

}  // namespace dptrain::config
