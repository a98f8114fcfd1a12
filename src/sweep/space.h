#pragma once

// Hyper-parameter search: trains one config many times with different values of a few keys, and compares them. This
// header defines the search space: the varied keys, and the values of each trial. They depend only on the seed and the
// trial's number. Pure functions; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dptrain::sweep {

/// One `--vary KEY=SPEC`.
struct SweepParameter {
  enum class Kind { kChoices, kReal, kWhole };

  std::string key;  ///< as in `--set`: "train.optimizer.learning_rate"
  Kind kind = Kind::kChoices;
  std::vector<std::string> choices{};  ///< YAML, as written
  double low = 0, high = 0;            ///< inclusive bounds of a range
  bool log = false;                    ///< uniform in the logarithm
};

/// "KEY=1e-4..1e-2:log", "KEY=16..128:int", "KEY=adam,sgd". Commas in brackets, braces and quotes are part of a choice.
/// Throws Error{kUsage}.
SweepParameter parse_parameter(const std::string& text);

/// One value for each varied key, as YAML.
using Values = std::vector<std::string>;

/// Random values of trial `number`, counted from 1. Reals have four significant digits, or all in a narrow range.
Values draw(const std::vector<SweepParameter>& space, std::uint64_t seed, std::int64_t number);

/// The text as a finite number; nothing if any of it is not part of the number.
std::optional<double> number_of(const std::string& text);

/// Number of points of the grid, at most a million; nothing if a key has a range.
std::optional<std::int64_t> grid_size(const std::vector<SweepParameter>& space);
/// Grid values of trial `number`, counted from 1; the last key changes fastest.
Values grid_point(const std::vector<SweepParameter>& space, std::int64_t number);

}  // namespace dptrain::sweep
