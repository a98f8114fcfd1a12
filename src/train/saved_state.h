#pragma once

// Values of the JSON that a checkpoint keeps of a run. The file may be damaged, or made by somebody else.

#include <cmath>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::train {

/// A count, 0 where there is none. Throws Error{kCheckpoint} for what no run reaches: sums and products of counts stay counts.
inline std::int64_t saved_count(const nlohmann::json& state, const char* name) {
  const auto count = state.value(name, std::int64_t{0});
  if (count < 0 || count > (std::int64_t{1} << 48))
    throw Error(ErrorKind::kCheckpoint, fmt::format("the checkpoint's training state says {} {}", name, count));
  return count;
}

/// A number that was perhaps not finite, which JSON writes as null: NaN.
inline double saved_number(const nlohmann::json& value) { return value.is_null() ? std::nan("") : value.get<double>(); }

/// The best value so far; none where it was not finite.
inline std::optional<double> saved_best(const nlohmann::json& state) {
  const auto found = state.find("best");
  return found == state.end() || found->is_null() ? std::nullopt : std::optional(found->get<double>());
}

}  // namespace dptrain::train
