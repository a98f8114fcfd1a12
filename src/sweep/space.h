#pragma once

// Sweep: one config trained many times with other values of a few keys, side by side, and the values compared. This
// header has the space of the values: keys with what they are varied over, and the points of it that trials take. A
// point is a function of the seed and the trial's number alone. Pure functions; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dptrain::sweep {

/// One `--vary KEY=SPEC`.
struct Varied {
  enum class Kind { kChoices, kReal, kWhole };

  std::string key;  ///< as `--set` takes it: "train.optimizer.learning_rate"
  Kind kind = Kind::kChoices;
  std::vector<std::string> choices{};  ///< YAML, as written
  double low = 0, high = 0;            ///< of the other kinds; both may be drawn
  bool log = false;                    ///< every factor is as likely, not every difference
};

/// "KEY=1e-4..1e-2:log", "KEY=16..128:int", "KEY=adam,sgd". Commas within brackets, braces and quotes belong to a
/// choice. Throws Error{kUsage}.
Varied parse_varied(const std::string& text);

/// One value for each varied key, as YAML.
using Values = std::vector<std::string>;

/// Of trial `number`, counted from 1: numbers with four digits that count.
Values draw(const std::vector<Varied>& space, std::uint64_t seed, std::int64_t number);

/// The number that a text is as a whole, if it is a finite one.
std::optional<double> number_of(const std::string& text);

/// How many points the grid has; nothing where a key has a range.
std::optional<std::int64_t> grid_size(const std::vector<Varied>& space);
/// Of trial `number`, counted from 1; the last key changes fastest.
Values grid_point(const std::vector<Varied>& space, std::int64_t number);

}  // namespace dptrain::sweep
