#include "sweep/space.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "core/random.h"
#include "core/text.h"

namespace dptrain::sweep {
namespace {

constexpr std::int64_t kMaxPoints = 1'000'000;
constexpr double kMaxExactInteger = 1e15;  // well below 2^53: exact as a double

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
  throw Error(ErrorKind::kUsage, fmt::format("--vary {}: {}", text, what));
}

/// Splits at commas outside brackets, braces and quotes.
std::vector<std::string> split_choices(const std::string& text, const std::string& whole) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && trim(parts.back()).empty()) {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  if (quote != 0 || depth != 0) refuse(whole, "a quote or bracket is not closed");
  for (std::string& part : parts) {
    part = trim(part);
    if (part.empty()) refuse(whole, "expected a value on both sides of each comma, as in adam,sgd");
  }
  return parts;
}

/// Parses "A..B" and the options after its colons; nothing if the text is not a range.
std::optional<SweepParameter> parse_range(const std::string& spec, const std::string& text) {
  const std::size_t dots = spec.find("..");
  if (dots == std::string::npos) return std::nullopt;
  const auto low = number_of(trim(spec.substr(0, dots)));
  if (!low) return std::nullopt;  // a path such as ../data
  std::vector<std::string> parts = split(spec.substr(dots + 2), ':');
  const auto high = number_of(trim(parts.front()));
  if (!high) refuse(text, fmt::format("expected a number after the dots, as in 1e-4..1e-2:log, found '{}'", parts[0]));
  SweepParameter range{.key = {}, .kind = SweepParameter::Kind::kReal, .low = *low, .high = *high};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string word = trim(parts[i]);
    const std::vector<std::string> known{"log", "int"};
    if (word == "log")
      range.log = true;
    else if (word == "int")
      range.kind = SweepParameter::Kind::kWhole;
    else
      refuse(text,
             fmt::format("expected :log, :int or both after a range, found ':{}'{}", word, did_you_mean(word, known)));
  }
  if (!(range.low < range.high)) refuse(text, "the second number of a range must be larger than the first");
  if (range.log && range.low <= 0) refuse(text, "a range with :log must begin above 0");
  const bool whole = range.low == std::floor(range.low) && range.high == std::floor(range.high);
  if (range.kind == SweepParameter::Kind::kWhole &&
      !(whole && std::abs(range.low) < kMaxExactInteger && range.high < kMaxExactInteger))
    refuse(text, "a range with :int needs two whole numbers");
  return range;
}

std::string real_text(const SweepParameter& range, double value) {
  const double rounded = *number_of(fmt::format("{:.4g}", value));
  const bool narrow = range.high - range.low < 1e-2 * std::max(std::abs(range.low), std::abs(range.high));
  return shortest(std::clamp(narrow ? value : rounded, range.low, range.high));
}

std::string draw_one(const SweepParameter& parameter, RandomStream stream) {
  if (parameter.kind == SweepParameter::Kind::kChoices)
    return parameter.choices[stream.below(parameter.choices.size())];
  if (parameter.kind == SweepParameter::Kind::kReal) {
    const double share = stream.uniform();
    const double value = parameter.log ? parameter.low * std::pow(parameter.high / parameter.low, share)
                                       : parameter.low + share * (parameter.high - parameter.low);
    return real_text(parameter, value);
  }
  if (!parameter.log)
    return fmt::format("{:.0f}", parameter.low + static_cast<double>(stream.below(
                                                     static_cast<std::uint64_t>(parameter.high - parameter.low) + 1)));
  const double value =
      parameter.low * std::pow((parameter.high + 1) / parameter.low, static_cast<double>(stream.uniform()));
  return fmt::format("{:.0f}", std::clamp(std::floor(value), parameter.low, parameter.high));
}

}  // namespace

std::optional<double> number_of(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

SweepParameter parse_parameter(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || trim(text.substr(equals + 1)).empty())
    refuse(text, "expected a key and its values, as in train.optimizer.learning_rate=1e-4..1e-2:log");
  const std::string spec = trim(text.substr(equals + 1));
  SweepParameter parameter;
  if (const auto range = parse_range(spec, text))
    parameter = *range;
  else
    parameter.choices = split_choices(spec, text);
  parameter.key = trim(text.substr(0, equals));
  return parameter;
}

Values draw(const std::vector<SweepParameter>& space, std::uint64_t seed, std::int64_t number) {
  Values values;
  for (std::size_t i = 0; i < space.size(); ++i)
    values.push_back(draw_one(
        space[i], RandomStream(seed, static_cast<std::uint32_t>(Purpose::kSweep) + static_cast<std::uint32_t>(i),
                               static_cast<std::uint64_t>(number))));
  return values;
}

std::optional<std::int64_t> grid_size(const std::vector<SweepParameter>& space) {
  std::int64_t size = 1;
  for (const SweepParameter& parameter : space) {
    if (parameter.kind != SweepParameter::Kind::kChoices) return std::nullopt;
    size = std::min(kMaxPoints, size * static_cast<std::int64_t>(parameter.choices.size()));
  }
  return size;
}

Values grid_point(const std::vector<SweepParameter>& space, std::int64_t number) {
  Values values(space.size());
  std::int64_t rest = number - 1;
  for (std::size_t i = space.size(); i-- > 0;) {
    const auto count = static_cast<std::int64_t>(space[i].choices.size());
    values[i] = space[i].choices[static_cast<std::size_t>(rest % count)];
    rest /= count;
  }
  return values;
}

}  // namespace dptrain::sweep
