#include "evaluation/assertion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::evaluation {
namespace {

/// Longer operators first: ">=" begins with ">".
constexpr std::array kOperators{std::pair{">=", Comparison::kAtLeast}, std::pair{"<=", Comparison::kAtMost},
                                std::pair{"==", Comparison::kEqual},   std::pair{"!=", Comparison::kUnequal},
                                std::pair{">", Comparison::kAbove},    std::pair{"<", Comparison::kBelow}};

[[noreturn]] void refuse(const std::string& text) {
  throw Error(
      ErrorKind::kUsage,
      fmt::format("--assert: expected a metric, one of >= <= > < == != and a number, as in 'val_accuracy>=0.90'; "
                  "found '{}'",
                  text));
}

}  // namespace

bool Assertion::holds(double value) const {
  switch (comparison) {
    case Comparison::kAtLeast: return value >= bound;
    case Comparison::kAtMost: return value <= bound;
    case Comparison::kAbove: return value > bound;
    case Comparison::kBelow: return value < bound;
    case Comparison::kEqual: return value == bound;
    case Comparison::kUnequal: return value != bound;
  }
  return false;
}

Assertion parse_assertion(const std::string& text) {
  const std::size_t begin = text.find_first_of("<>=!");
  if (begin == std::string::npos) refuse(text);
  Assertion assertion;
  assertion.text = trim(text);
  assertion.name = trim(text.substr(0, begin));
  const std::string rest = text.substr(begin);
  const auto found = std::ranges::find_if(kOperators, [&](const auto& one) { return rest.starts_with(one.first); });
  if (found == kOperators.end()) refuse(text);
  assertion.comparison = found->second;
  assertion.bound =
      parse_number<double>(trim(rest.substr(std::string_view(found->first).size()))).value_or(std::nan(""));
  const bool of_class = assertion.name.find(" of ") != std::string::npos;
  const bool one_word = of_class || assertion.name.find_first_of(" \t") == std::string::npos;
  if (assertion.name.empty() || !one_word || std::isnan(assertion.bound)) refuse(text);
  return assertion;
}

std::vector<Assertion> parse_assertions(const std::vector<std::string>& texts) {
  std::vector<Assertion> assertions;
  for (const std::string& text : texts) assertions.push_back(parse_assertion(text));
  return assertions;
}

void check_names(const std::vector<Assertion>& assertions, const std::vector<std::string>& names,
                 const std::vector<std::string>& more) {
  std::vector<std::string> known = names;
  known.insert(known.end(), more.begin(), more.end());
  for (const Assertion& assertion : assertions) {
    if (std::ranges::find(known, assertion.name) == known.end())
      throw Error(
          ErrorKind::kUsage,
          fmt::format("--assert '{}': there is no '{}' among {}{}{}", assertion.text, assertion.name, join(names, ", "),
                      more.empty() ? "" : fmt::format(" and the scores of classes, such as '{}'", more.front()),
                      did_you_mean(assertion.name, known)));
  }
}

std::vector<Verdict> verdicts_of(const std::vector<Assertion>& assertions,
                                 const std::vector<std::pair<std::string, double>>& values) {
  std::vector<Verdict> verdicts;
  for (const Assertion& assertion : assertions) {
    const double* found = nullptr;
    for (const auto& [name, value] : values)
      if (name == assertion.name) found = &value;
    Verdict verdict{.gate = assertion.name, .found = found != nullptr ? *found : std::nan("")};
    verdict.limit = trim(trim(assertion.text).substr(assertion.name.size()));
    verdict.failed = found == nullptr || !assertion.holds(*found);
    if (verdict.failed)
      verdict.message = fmt::format("assertion '{}' failed: ", assertion.text) +
                        (found == nullptr ? "the run ended before there was a " + assertion.name
                                          : fmt::format("{} is {:.6g}", assertion.name, *found));
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

void require(const std::vector<Verdict>& verdicts) {
  std::vector<Error> failures;
  for (const Verdict& verdict : verdicts)
    if (verdict.failed)
      failures.push_back(config::error_at(ErrorKind::kCheck, verdict.place,
                                          (verdict.place.known() ? "gate: " : "") + verdict.message));
  if (failures.empty()) return;
  std::string all = failures.front().message();
  for (const Error& other : std::span(failures).subspan(1))
    all += std::string("\n") + (other.is_complete() ? "" : "error: ") + other.what();
  throw Error(ErrorKind::kCheck, all, failures.front().location());
}

void check(const std::vector<Assertion>& assertions, const std::vector<std::pair<std::string, double>>& values) {
  require(verdicts_of(assertions, values));
}

}  // namespace dptrain::evaluation
