#include "data/images/image_resize.h"

#include <algorithm>
#include <array>
#include <vector>

#include "data/images/resize_tables.h"

namespace dptrain::data {
namespace {

/// The tables that a thread has used last.
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

/// A table stays until fifteen others have been asked for.
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
  // In floats, cut off, as Keras (the function resize of its TensorFlow backend).
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
