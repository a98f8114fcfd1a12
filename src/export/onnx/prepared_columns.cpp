// Columns of tables: numbers normalised, words and bins as one-hot or as ids.

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "export/onnx/preparing.h"

namespace dptrain::exporting::onnx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// What no Embedding has: its Gather fails.
constexpr std::int64_t kNoId = std::numeric_limits<std::int32_t>::max();

class Column {
 public:
  Column(Builder& to, const Value& cells, const PreparedColumn& column, const std::vector<std::string>& missing,
         Element type)
      : to_(to),
        cells_(to.node("Unsqueeze", {cells, to.integers({1})}, {kBatch, 1}, {}, cells.type)),
        column_(column),
        missing_(missing),
        ids_(type == Element::kInt32) {}

  Value operator()(const NormalizeNumber& map) {
    const Value x = filled(Element::kDouble);
    const Value centred = to_.binary("Sub", x, to_.doubles({}, {map.mean}), Element::kDouble);
    return to_.cast(to_.binary("Div", centred, to_.doubles({}, {map.deviation}), Element::kDouble), Element::kFloat);
  }

  Value operator()(const RescaleNumber& map) {
    const Value x = filled(Element::kFloat);
    return to_.binary("Add", to_.binary("Mul", x, to_.scalar(map.scale)), to_.scalar(map.offset));
  }

  Value operator()(const FindBin& bins) {
    const auto count = static_cast<std::int64_t>(bins.boundaries.size());
    const Value x = filled(Element::kFloat);
    // Not x times 0, which is no number for an infinite one.
    if (count == 0) return index(to_.cast(to_.where(nan(x), to_.scalar(0), to_.scalar(0)), Element::kInt64), nan(x), 1);
    const Value above = to_.binary("GreaterOrEqual", x, to_.floats({count}, bins.boundaries), Element::kBool);
    const Value below = to_.reduce("ReduceSum", to_.cast(above, Element::kFloat), {1}, true);
    return index(to_.cast(below, Element::kInt64), nan(x), count + 1);
  }

  Value operator()(const TakeToken& token) {
    const Value& x = cells_;
    const Value whole = to_.binary("Equal", x, to_.unary("Floor", x), Element::kBool);
    const Value low = to_.binary("GreaterOrEqual", x, to_.scalar(0), Element::kBool);
    const Value high = to_.binary("Less", x, to_.scalar(static_cast<float>(token.count)), Element::kBool);
    const Value good = to_.binary("And", whole, to_.binary("And", low, high, Element::kBool), Element::kBool);
    return index(to_.cast(to_.where(good, x, to_.scalar(0)), Element::kInt64), to_.unary("Not", good), token.count);
  }

  Value operator()(const LookUpWord& look) {
    std::vector<std::string> words = missing_;  // before the vocabulary, as tables are read
    std::vector<std::int64_t> indices(words.size(), look.missing.value_or(look.count));
    for (const auto& [word, index] : look.words)
      if (std::ranges::find(missing_, word) == missing_.end()) words.push_back(word), indices.push_back(index);
    const Value found = to_.node(
        "LabelEncoder", {cells_}, cells_.dims,
        {{"keys_strings", words}, {"values_int64s", indices}, {"default_int64", look.unknown.value_or(look.count)}},
        Element::kInt64);
    to_.graph().nodes.back().domain = kMlDomain;
    const bool refuses = !look.unknown || !look.missing;
    const Value refused = refuses ? to_.binary("Equal", found, to_.integers({look.count}), Element::kBool) : Value{};
    return index(found, refused, look.count);
  }

 private:
  /// The number, or what stands for a missing one.
  Value filled(Element type) {
    const Value x = to_.cast(cells_, type);
    if (!column_.fill) return x;
    const Value fill =
        type == Element::kDouble ? to_.doubles({}, {*column_.fill}) : to_.scalar(static_cast<float>(*column_.fill));
    return to_.where(nan(x), fill, x);
  }

  Value nan(const Value& x) { return to_.node("IsNaN", {x}, x.dims, {}, Element::kBool); }

  /// [batch, 1] as one-hot or as ids. `refused`: which rows are; without a name none is.
  Value index(const Value& found, const Value& refused, std::int64_t count) {
    if (ids_) {
      Value id = found;
      if (!refused.name.empty()) id = to_.where(refused, to_.integers({kNoId}), found);
      return to_.cast(id, Element::kInt32);
    }
    const Value flat = to_.reshape(found, {kBatch});
    const Value hot = to_.node("OneHot", {flat, to_.integers({count}), to_.floats({2}, {0.0F, 1.0F})}, {kBatch, count});
    return refused.name.empty() ? hot : to_.where(refused, to_.scalar(kNan), hot);
  }

  Builder& to_;
  Value cells_;
  const PreparedColumn& column_;
  const std::vector<std::string>& missing_;
  bool ids_;
};

}  // namespace

Value prepare_column(Builder& to, const Value& cells, const PreparedColumn& column,
                     const std::vector<std::string>& missing, Element type) {
  to.set_scope(column.name);
  return std::visit(Column(to, cells, column, missing, type), column.step);
}

}  // namespace dptrain::exporting::onnx
