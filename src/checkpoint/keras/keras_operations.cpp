#include "checkpoint/keras/keras_arithmetic.h"

#include <nlohmann/json.hpp>

namespace dptrain::checkpoint {

std::optional<KerasLine> line_of(const std::string& class_name, const nlohmann::json& arguments) {
  if (!arguments.is_array()) return std::nullopt;
  if (class_name == "Negative" && arguments.size() == 1) return KerasLine{-1, 0};
  if (arguments.size() != 2) return std::nullopt;
  const bool number_first = arguments[0].is_number();
  if (number_first == arguments[1].is_number() || !arguments[number_first ? 1 : 0].is_object()) return std::nullopt;
  const double number = arguments[number_first ? 0 : 1].get<double>();
  if (class_name == "Add") return KerasLine{1, number};
  if (class_name == "Multiply") return KerasLine{number, 0};
  if (class_name == "Subtract") return number_first ? KerasLine{-1, number} : KerasLine{1, -number};
  if ((class_name == "Divide" || class_name == "TrueDivide") && !number_first && number != 0)
    return KerasLine{1 / number, 0};
  return std::nullopt;
}

}  // namespace dptrain::checkpoint
