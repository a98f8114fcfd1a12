#include "data/source.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::data {

void Source::read_exact(std::int64_t /*index*/, int input, DType type, void* /*out*/) const {
  throw Error(ErrorKind::kInternal, fmt::format("input '{}' is not stored as {}", input_name(input), name_of(type)));
}

void Source::read_label_map(std::int64_t /*index*/, Array& /*out*/, int which) const {
  throw Error(ErrorKind::kInternal, fmt::format("label '{}' is not a map", label_name(which)));
}

ClassNames class_names_of(const Source& source) {
  ClassNames names;
  for (int which = 0; which < source.labels(); ++which) names.add(source.label_name(which), source.class_names(which));
  return names;
}

bool ModelSide::is_id_input(const std::string& input, std::size_t inputs) const {
  if (input.empty() && inputs == 1 && input_shapes.size() == 1) return input_type(0) == DType::kI32;
  const auto found = std::find(input_names.begin(), input_names.end(), input);
  return found != input_names.end() && input_type(static_cast<std::size_t>(found - input_names.begin())) == DType::kI32;
}

LabelUse ModelSide::label_use(const std::string& label) const {
  if (label_uses.empty()) return LabelUse::kAny;
  if (label.empty()) {
    const bool alike = std::ranges::count(label_uses, label_uses.front()) == std::ssize(label_uses);
    return alike ? label_uses.front() : LabelUse::kAny;
  }
  const auto found = std::ranges::find(output_names, label);
  return found == output_names.end() ? LabelUse::kAny
                                     : label_uses[static_cast<std::size_t>(found - output_names.begin())];
}

std::int64_t ModelSide::classes_of(const std::string& label) const {
  for (std::size_t i = 0; i < label_uses.size(); ++i)
    if (label_uses[i] == LabelUse::kClasses && (output_names[i] == label || (label.empty() && outputs.size() == 1)))
      return outputs[i].back();
  return 0;
}

bool ModelSide::is_transformed(std::size_t i) const {
  const auto is_picture = [this](std::size_t k) { return input_type(k) == DType::kF32 && input_shapes[k].rank() >= 3; };
  bool any = false;
  for (std::size_t k = 0; k < input_shapes.size(); ++k) any = any || is_picture(k);
  return input_type(i) == DType::kF32 && (!any || is_picture(i));
}

}  // namespace dptrain::data
