#include "formats/onnx/input_preparation.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::formats::onnx {

Value InputPreparation::input(const PreparedInput& prepared, const std::string& name, const Shape& wanted,
                              Element type) {
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
  x = to_.cast(add_image_nodes(to_, std::move(x), prepared.steps), type);
  if (x.dims != with_batch(wanted))
    throw Error(ErrorKind::kUsage, fmt::format("ONNX: '{}' is {} after its preparation, but the model expects {}", name,
                                               sample_of(x).str(), wanted.str()));
  return x;
}

Value InputPreparation::table(const PreparedInput& prepared, Element type) {
  std::vector<Value> parts;
  for (const PreparedColumn& one : prepared.columns)
    parts.push_back(add_column_nodes(to_, column(one), one, prepared.missing, type));
  return parts.size() == 1 ? parts[0] : to_.concat(parts, 1);
}

Value InputPreparation::column(const PreparedColumn& column) {
  const auto found = columns_.find(column.name);
  if (found != columns_.end()) return found->second;
  const Element type = std::holds_alternative<LookUpWord>(column.step) ? Element::kString : Element::kFloat;
  return columns_[column.name] = to_.input(column.name, {kBatch}, type);
}

namespace {

// Columns of tables: normalized numbers, and words and bins as one-hot or as ids.

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// An id that no Embedding has, so that its Gather fails.
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
    // Not x times 0, which is NaN for infinity.
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

  Value operator()(const LookUpWord& lookup) {
    std::vector<std::string> words = missing_;  // take precedence over the vocabulary, as in tables
    std::vector<std::int64_t> indices(words.size(), lookup.missing.value_or(lookup.count));
    for (const auto& [word, index] : lookup.words)
      if (std::ranges::find(missing_, word) == missing_.end()) words.push_back(word), indices.push_back(index);
    const Value found = to_.node(
        "LabelEncoder", {cells_}, cells_.dims,
        {{"keys_strings", words}, {"values_int64s", indices}, {"default_int64", lookup.unknown.value_or(lookup.count)}},
        Element::kInt64);
    to_.graph().nodes.back().domain = kMlDomain;
    const bool refuses = !lookup.unknown || !lookup.missing;
    const Value refused = refuses ? to_.binary("Equal", found, to_.integers({lookup.count}), Element::kBool) : Value{};
    return index(found, refused, lookup.count);
  }

 private:
  /// The number, or the fill value of a missing one.
  Value filled(Element type) {
    const Value x = to_.cast(cells_, type);
    if (!column_.fill) return x;
    const Value fill =
        type == Element::kDouble ? to_.doubles({}, {*column_.fill}) : to_.scalar(static_cast<float>(*column_.fill));
    return to_.where(nan(x), fill, x);
  }

  Value nan(const Value& x) { return to_.node("IsNaN", {x}, x.dims, {}, Element::kBool); }

  /// [batch, 1] as one-hot or as ids. `refused`: mask of the refused rows; without a name none is refused.
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

Value add_column_nodes(Builder& to, const Value& cells, const PreparedColumn& column,
                       const std::vector<std::string>& missing, Element type) {
  to.set_scope(column.name);
  return std::visit(Column(to, cells, column, missing, type), column.step);
}

namespace {

// Images: maps channels, crops and resizes. ONNX's Resize is not used: its rounding differs between its versions and
// from TensorFlow's. Nodes compute positions and weights from the image's size, in the floats of
// data/images/image_resize.cpp, so the pixels are the same. x: [batch, height, width, channels].

/// A rectangle of integers, each [1].
struct Window {
  Value top, left, height, width;
};

class Images {
 public:
  Images(Builder& to, Value x) : to_(to), x_(std::move(x)) {}

  void operator()(const MapChannels& map) {
    x_ = to_.cast(x_, Element::kFloat);
    if (map.reverse) x_ = to_.flip(x_, static_cast<std::int64_t>(x_.dims.size()) - 1);
    const auto put = [this](const char* op, const std::vector<float>& values, float neutral) {
      if (std::ranges::all_of(values, [&](float value) { return value == neutral; })) return;
      const auto count = static_cast<std::int64_t>(values.size());
      x_ = to_.binary(op, x_, count == 1 ? to_.scalar(values[0]) : to_.floats({count}, values));
    };
    put("Mul", map.scale, 1);
    put("Add", map.offset, 0);
  }

  void operator()(const ResizeImage& resize) {
    if (resize.crop_to_aspect_ratio) cut(centred(resize.height, resize.width));
    using Filter = ResizeImage::Filter;
    if (x_.dims[1] == resize.height && x_.dims[2] == resize.width) {
      if (resize.filter != Filter::kNearest) x_ = to_.cast(x_, Element::kFloat);
      return;
    }
    for (const auto& [axis, size] : {std::pair{1, resize.height}, std::pair{2, resize.width}}) {
      if (resize.filter == Filter::kNearest) {
        x_ = pick(axis, to_.binary("Min", to_.unary("Floor", centres(axis, size)), last(axis)));
      } else if (resize.filter == Filter::kBilinear) {
        bilinear(axis, size);
      } else {
        triangle(axis, size);
      }
    }
  }

  void operator()(const CropCentre& crop) {
    const std::int64_t height = x_.dims[1], width = x_.dims[2];
    if (height >= crop.height && width >= crop.width) {
      const std::int64_t top = (height - crop.height) / 2, left = (width - crop.width) / 2;
      x_ = to_.slice(to_.slice(x_, 1, top, top + crop.height), 2, left, left + crop.width);
      return;
    }
    // Resizing a window of the crop's size to that size does not change it.
    const Window small = centred(crop.height, crop.width);
    const Value h = to_.integers({crop.height}), w = to_.integers({crop.width});
    const Value fits = to_.binary("And", to_.binary("GreaterOrEqual", extent(1), h, Element::kBool),
                                  to_.binary("GreaterOrEqual", extent(2), w, Element::kBool), Element::kBool);
    cut({.top = to_.where(fits, half(extent(1), h), small.top),
         .left = to_.where(fits, half(extent(2), w), small.left),
         .height = to_.where(fits, h, small.height),
         .width = to_.where(fits, w, small.width)});
    bilinear(1, crop.height);
    bilinear(2, crop.width);
  }

  void operator()(const StandardizeImage&) {
    x_ = to_.cast(x_, Element::kFloat);
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 1; axis < x_.dims.size(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
    const Value far = to_.binary("Sub", x_, to_.reduce("ReduceMean", x_, axes, true));
    const Value variance = to_.reduce("ReduceMean", to_.binary("Mul", far, far), axes, true);
    Value elements = to_.scalar(1);
    for (const std::int64_t axis : axes) elements = to_.binary("Mul", elements, float_of(extent(axis)));
    const Value least = to_.unary("Reciprocal", to_.unary("Sqrt", elements));
    x_ = to_.binary("Div", far, to_.binary("Max", to_.unary("Sqrt", variance), least));
  }

  Value result() const { return x_; }

 private:
  /// The extent of an axis, [1].
  Value extent(std::int64_t axis) {
    const std::int64_t known = x_.dims[static_cast<std::size_t>(axis)];
    if (known >= 0) return to_.integers({known});
    return to_.extents(x_, axis, axis + 1);
  }

  Value float_of(const Value& integer) { return to_.cast(integer, Element::kFloat); }
  Value last(std::int64_t axis) { return to_.binary("Sub", float_of(extent(axis)), to_.scalar(1)); }
  Value whole(const char* op, const Value& a, const Value& b) { return to_.binary(op, a, b, Element::kInt64); }
  /// (a - b) / 2, for a >= b.
  Value half(const Value& a, const Value& b) { return whole("Div", whole("Sub", a, b), to_.integers({2})); }

  /// As centred() of data/images/image_resize.cpp.
  Window centred(std::int64_t height, std::int64_t width) {
    const auto fit = [this](const Value& most, const Value& other, std::int64_t target, std::int64_t other_target) {
      const Value product = float_of(whole("Mul", other, to_.integers({target})));
      const Value side = to_.binary("Div", product, to_.scalar(static_cast<float>(other_target)));
      const Value cut_off = to_.cast(side, Element::kInt64);
      const Value least = whole("Min", most, cut_off);
      return whole("Max", least, to_.integers({1}));
    };
    const Value all_height = extent(1), all_width = extent(2);
    Window window;
    window.height = fit(all_height, all_width, height, width);
    window.width = fit(all_width, all_height, width, height);
    window.top = half(all_height, window.height);
    window.left = half(all_width, window.width);
    return window;
  }

  void cut(const Window& window) {
    const Value starts = to_.concat({window.top, window.left}, 0);
    const Value sizes = to_.concat({window.height, window.width}, 0);
    x_ = to_.node("Slice", {x_, starts, whole("Add", starts, sizes), to_.integers({1, 2})},
                  {x_.dims[0], kHeight, kWidth, x_.dims[3]}, {}, x_.type);
  }

  /// Centres of the result's pixels in coordinates of the image, whose own centres are at one half, [size].
  Value centres(std::int64_t axis, std::int64_t size) {
    const Value step = to_.binary("Div", float_of(extent(axis)), to_.scalar(static_cast<float>(size)));
    return to_.binary("Mul", halves(size), step);
  }

  Value halves(std::int64_t size) {
    return to_.named("halves/" + std::to_string(size), {size}, [size] {
      std::vector<float> values;
      for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(i) + 0.5F);
      return values;
    });
  }

  /// Gathers rows or columns by integral indices.
  Value pick(std::int64_t axis, const Value& which) {
    Dims dims = x_.dims;
    dims[static_cast<std::size_t>(axis)] = which.dims[0];
    return to_.node("Gather", {x_, to_.cast(which, Element::kInt64)}, std::move(dims), {{"axis", axis}}, x_.type);
  }

  void bilinear(std::int64_t axis, std::int64_t size) {
    const Value at = to_.binary("Sub", centres(axis, size), to_.scalar(0.5F));
    const Value below = to_.unary("Floor", at);
    Value fraction = to_.binary("Sub", at, below);
    const Value low = pick(axis, to_.binary("Max", below, to_.scalar(0)));
    const Value high = pick(axis, to_.binary("Min", to_.unary("Ceil", at), last(axis)));
    fraction = to_.reshape(fraction, axis == 1 ? Dims{size, 1, 1} : Dims{size, 1});
    const Value rest = to_.binary("Sub", to_.scalar(1), fraction);
    const auto part = [this](const Value& pixels, const Value& weight) {
      return to_.binary("Mul", to_.cast(pixels, Element::kFloat), weight);
    };
    x_ = to_.binary("Add", part(low, rest), part(high, fraction));
  }

  /// Multiplies a matrix of weights [size, extent] by the pixels.
  void triangle(std::int64_t axis, std::int64_t size) {
    x_ = to_.cast(x_, Element::kFloat);
    const Value in = float_of(extent(axis));
    const Value step = to_.unary("Reciprocal", to_.binary("Div", to_.scalar(static_cast<float>(size)), in));
    const Value inverse = to_.unary("Reciprocal", to_.binary("Max", step, to_.scalar(1)));
    const Value at = to_.reshape(to_.binary("Mul", halves(size), step), {size, 1});
    const std::int64_t free = x_.dims[static_cast<std::size_t>(axis)];
    const Value count = to_.node("Squeeze", {in}, Dims{});
    const Value places = to_.node("Range", {to_.scalar(0), count, to_.scalar(1)}, Dims{free});
    const Value distance = to_.binary("Sub", to_.binary("Add", places, to_.scalar(0.5F)), at);
    const Value scaled = to_.binary("Mul", to_.unary("Abs", distance), inverse);
    const Value raw = to_.unary("Relu", to_.binary("Sub", to_.scalar(1), scaled));
    const Value sum = to_.reduce("ReduceSum", raw, {1}, true);
    const Value weights = to_.binary("Mul", raw, to_.unary("Reciprocal", sum));
    const Dims& dims = x_.dims;
    if (axis == 2) {  // [batch, rows, width, channels]
      x_ = to_.node("MatMul", {weights, x_}, {dims[0], dims[1], size, dims[3]});
      return;
    }
    const std::int64_t channels = dims[3], width = dims[2];
    const Value rows = to_.node("Reshape", {x_, to_.integers({0, 0, -1})}, {dims[0], dims[1], kWidth});
    const Value made = to_.node("MatMul", {weights, rows}, {dims[0], size, kWidth});
    x_ = to_.node("Reshape", {made, to_.integers({0, size, -1, channels})}, {dims[0], size, width, channels});
  }

  Builder& to_;
  Value x_;
};

/// A clip's frames are images.
Value frames_of(Builder& to, const Value& x) {
  const Value image = to.extents(x, 2, 5);
  const Value dims = to.concat({to.integers({-1}), image}, 0);
  return to.node("Reshape", {x, dims}, {kBatch, x.dims[2], x.dims[3], x.dims[4]}, {}, x.type);
}

}  // namespace

Value add_image_nodes(Builder& to, Value x, const std::vector<ImageStep>& steps) {
  const bool maps_only =
      std::ranges::all_of(steps, [](const ImageStep& step) { return std::holds_alternative<MapChannels>(step); });
  const bool clips = x.dims.size() == 5 && !maps_only;
  const std::int64_t frames = clips ? x.dims[1] : 0;
  Images images(to, clips ? frames_of(to, x) : x);
  for (const ImageStep& step : steps) std::visit(images, step);
  const Value made = images.result();
  if (!clips) return made;
  return to.reshape(made, {kBatch, frames, made.dims[1], made.dims[2], made.dims[3]});
}

}  // namespace dptrain::formats::onnx
