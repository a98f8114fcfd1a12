#include "data/source.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::data {

void Source::read_exact(std::int64_t /*index*/, int input, DType type, void* /*out*/) const {
  throw Error(ErrorKind::kInternal, fmt::format("input '{}' is not stored as {}", input_name(input), name_of(type)));
}

bool ModelSide::wants_ids(const std::string& input, std::size_t inputs) const {
  if (input.empty() && inputs == 1 && input_shapes.size() == 1) return input_type(0) == DType::kI32;
  const auto found = std::find(input_names.begin(), input_names.end(), input);
  return found != input_names.end() && input_type(static_cast<std::size_t>(found - input_names.begin())) == DType::kI32;
}

}  // namespace dptrain::data
