#include "export/onnx/preparing.h"

#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::exporting::onnx {

Value Preparing::input(const PreparedInput& prepared, const std::string& name, const Shape& wanted, Element type) {
  Value x;
  if (prepared.columns.empty()) {
    Dims dims = with_batch(prepared.raw);
    if (dims.size() >= 4) {
      if (std::int64_t& height = dims[dims.size() - 3]; height == 0) height = kHeight;
      if (std::int64_t& width = dims[dims.size() - 2]; width == 0) width = kWidth;
    }
    x = to_.input(name, dims, prepared.bytes ? Element::kUint8 : Element::kFloat);
  } else {
    x = table(prepared, type);
  }
  x = to_.cast(prepare_images(to_, std::move(x), prepared.steps), type);
  if (x.dims != with_batch(wanted))
    throw Error(ErrorKind::kUsage, fmt::format("ONNX: '{}' is {} after its preparation, but the model wants {}", name,
                                               sample_of(x).str(), wanted.str()));
  return x;
}

Value Preparing::table(const PreparedInput& prepared, Element type) {
  std::vector<Value> parts;
  for (const PreparedColumn& one : prepared.columns)
    parts.push_back(prepare_column(to_, column(one), one, prepared.missing, type));
  return parts.size() == 1 ? parts[0] : to_.concat(parts, 1);
}

Value Preparing::column(const PreparedColumn& column) {
  const auto found = columns_.find(column.name);
  if (found != columns_.end()) return found->second;
  const Element type = std::holds_alternative<LookUpWord>(column.step) ? Element::kString : Element::kFloat;
  return columns_[column.name] = to_.input(column.name, {kBatch}, type);
}

}  // namespace dptrain::exporting::onnx
