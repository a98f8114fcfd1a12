#include "data/images/image_resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace dptrain::data {
namespace {

/// In floats as in TensorFlow, for the same rounding between two pixels.
float centre(std::int64_t i, float step) { return (static_cast<float>(i) + 0.5F) * step; }

float step_of(std::int64_t in, std::int64_t out) { return static_cast<float>(in) / static_cast<float>(out); }

void nearest(std::int64_t in, ResizeTable& table) {
  const float step = step_of(in, table.size);
  for (std::int64_t i = 0; i < table.size; ++i)
    table.first.push_back(
        static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(std::floor(centre(i, step))), in - 1)));
}

/// tensorflow/core/kernels/image/resize_bilinear_op.cc, HalfPixelScaler.
void bilinear(std::int64_t in, ResizeTable& table) {
  const float step = step_of(in, table.size);
  const std::int64_t size = table.size;
  table.taps = std::min<std::int64_t>(2, in);
  table.weights.assign(static_cast<std::size_t>(table.taps * size), 0.0F);
  for (std::int64_t i = 0; i < size; ++i) {
    const float at = centre(i, step) - 0.5F, below = std::floor(at), fraction = at - below;
    const std::int64_t low = std::max<std::int64_t>(static_cast<std::int64_t>(below), 0);
    const std::int64_t high = std::min(static_cast<std::int64_t>(std::ceil(at)), in - 1);
    const std::int64_t first = std::min(low, in - table.taps);
    table.first.push_back(static_cast<std::int32_t>(first));
    table.weights[static_cast<std::size_t>((low - first) * size + i)] += 1 - fraction;
    table.weights[static_cast<std::size_t>((high - first) * size + i)] += fraction;
  }
}

/// tensorflow/core/kernels/image/scale_and_translate_op.cc, ComputeSpans with the triangle of radius 1.
void triangle(std::int64_t in, ResizeTable& table) {
  const std::int64_t size = table.size;
  const float scale = static_cast<float>(size) / static_cast<float>(in), step = 1.0F / scale;
  const float radius = std::max(step, 1.0F), inverse = 1.0F / radius;
  const auto clamped = [&](float place) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(place), 0, in - 1);
  };
  const auto begin_of = [&](float at) { return clamped(std::ceil(at - radius - 0.5F)); };
  const auto end_of = [&](float at) { return clamped(std::floor(at + radius - 0.5F)) + 1; };
  for (std::int64_t i = 0; i < size; ++i)
    table.taps = std::max(table.taps, end_of(centre(i, step)) - begin_of(centre(i, step)));
  table.weights.assign(static_cast<std::size_t>(table.taps * size), 0.0F);
  for (std::int64_t i = 0; i < size; ++i) {
    const float at = centre(i, step);
    const std::int64_t begin = begin_of(at), end = end_of(at), first = std::min(begin, in - table.taps);
    table.first.push_back(static_cast<std::int32_t>(first));
    const auto weight = [&](std::int64_t source) -> float& {
      return table.weights[static_cast<std::size_t>((source - first) * size + i)];
    };
    float sum = 0;
    for (std::int64_t source = begin; source < end; ++source) {
      weight(source) = std::max(0.0F, 1 - std::fabs((static_cast<float>(source) + 0.5F - at) * inverse));
      sum += weight(source);
    }
    for (std::int64_t source = begin; source < end; ++source) weight(source) *= 1.0F / sum;
  }
}

}  // namespace

ResizeTable make_resize_table(std::int64_t in, std::int64_t out, ResizeFilter filter, bool mirror) {
  ResizeTable table;
  table.size = out;
  table.first.reserve(static_cast<std::size_t>(out));
  if (filter == ResizeFilter::kNearest) nearest(in, table);
  if (filter == ResizeFilter::kBilinear) bilinear(in, table);
  if (filter == ResizeFilter::kTriangle) triangle(in, table);
  if (mirror) {
    std::reverse(table.first.begin(), table.first.end());
    for (auto row = table.weights.begin(); row != table.weights.end(); row += out) std::reverse(row, row + out);
  }
  return table;
}

namespace {

/// Caches the 16 tables that a thread has used last.
class Tables {
 public:
  const ResizeTable& get(std::int64_t in, std::int64_t out, ResizeFilter filter, bool mirror) {
    const Key key{in, out, filter, mirror};
    Entry* entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
    if (entry == entries_.end()) {
      entry = std::min_element(entries_.begin(), entries_.end(), [](auto& a, auto& b) { return a.used < b.used; });
      entry->key = key;
      entry->table = make_resize_table(in, out, filter, mirror);
    }
    entry->used = ++now_;
    return entry->table;
  }

 private:
  struct Key {
    std::int64_t in = 0, out = 0;
    ResizeFilter filter = ResizeFilter::kNearest;
    bool mirror = false;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    ResizeTable table;
    std::uint64_t used = 0;
  };
  std::array<Entry, 16> entries_;
  std::uint64_t now_ = 0;
};

/// A reference to a table is valid until 15 other tables are requested.
thread_local Tables tables;
thread_local std::vector<float> work;

ResizeFilter filter_of(const Resize& resize) {
  if (resize.interpolation == Interpolation::kNearest) return ResizeFilter::kNearest;
  return resize.antialias ? ResizeFilter::kTriangle : ResizeFilter::kBilinear;
}

template <class T>
kernels::cpu::Pixels<T> part(const ImageView& image, const Window& window) {
  const std::int64_t channels = image.shape[2], stride = image.shape[1] * channels;
  return {static_cast<const T*>(image.data) + window.top * stride + window.left * channels, window.height, window.width,
          channels, stride};
}

template <class T>
void resize_pixels(const kernels::cpu::Pixels<T>& in, const Resize& resize, const Finish& finish, float* out) {
  const ResizeFilter filter = filter_of(resize);
  const KernelMap map(finish.map, in.channels);
  if (in.height == resize.height && in.width == resize.width) {  // each pixel is its own weighted sum
    kernels::cpu::map_pixels(in, map.get(), finish.mirror.x, finish.mirror.y, out, in.width * in.channels);
    return;
  }
  const ResizeTable& rows = tables.get(in.height, resize.height, filter, finish.mirror.y);
  const ResizeTable& columns = tables.get(in.width, resize.width, filter, finish.mirror.x);
  if (filter == ResizeFilter::kNearest) {
    kernels::cpu::pick_pixels(in, rows.first.data(), rows.size, columns.first.data(), columns.size, map.get(), out);
    return;
  }
  work.resize(static_cast<std::size_t>(kernels::cpu::resize_workspace(in.width, in.channels)));
  kernels::cpu::resize(in, rows.axis(), columns.axis(), map.get(), work.data(), out);
}

}  // namespace

Window whole(const Shape& image) { return {0, 0, image[0], image[1]}; }

Window inside(const Shape& image, const Window& window) {
  const std::int64_t top = std::clamp<std::int64_t>(window.top, 0, image[0]);
  const std::int64_t left = std::clamp<std::int64_t>(window.left, 0, image[1]);
  return {top, left, std::clamp<std::int64_t>(window.top + window.height, top, image[0]) - top,
          std::clamp<std::int64_t>(window.left + window.width, left, image[1]) - left};
}

Window centred(const Shape& image, std::int64_t height, std::int64_t width) {
  // In floats, truncated, as in the function resize() of Keras's TensorFlow backend.
  const auto fit = [](std::int64_t most, std::int64_t other, std::int64_t target, std::int64_t other_target) {
    const float side = static_cast<float>(other * target) / static_cast<float>(other_target);
    return std::max<std::int64_t>(std::min(most, static_cast<std::int64_t>(side)), 1);
  };
  Window window;
  window.height = fit(image[0], image[1], height, width);
  window.width = fit(image[1], image[0], width, height);
  window.top = (image[0] - window.height) / 2;
  window.left = (image[1] - window.width) / 2;
  return window;
}

void resize_image(const ImageView& image, const Window& window, const Resize& resize, const Finish& finish,
                  float* out) {
  if (image.type == DType::kU8) {
    resize_pixels(part<std::uint8_t>(image, window), resize, finish, out);
  } else {
    resize_pixels(part<float>(image, window), resize, finish, out);
  }
}

void resize_image(const ImageView& image, const Window& window, const Resize& resize, Array& out) {
  out.shape = Shape{resize.height, resize.width, image.shape[2]};
  const auto elements = static_cast<std::size_t>(out.shape.elements());
  if (image.type == DType::kU8 && resize.interpolation == Interpolation::kNearest) {
    const ResizeTable& rows = tables.get(window.height, resize.height, ResizeFilter::kNearest, false);
    const ResizeTable& columns = tables.get(window.width, resize.width, ResizeFilter::kNearest, false);
    out.type = DType::kU8;
    out.u8.resize(elements);
    kernels::cpu::pick_pixels(part<std::uint8_t>(image, window), rows.first.data(), rows.size, columns.first.data(),
                              columns.size, out.u8.data());
    return;
  }
  out.type = DType::kF32;
  out.f32.resize(elements);
  resize_image(image, window, resize, Finish{}, out.f32.data());
}

}  // namespace dptrain::data
