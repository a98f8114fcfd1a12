#include "plot/file.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>

#include "core/error.h"
#include "core/text.h"
#include "plot/cairo/pango.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

using pango::functions;

struct FreeSurface {
  void operator()(cairo_surface_t* surface) const { functions().destroy_surface(surface); }
};
struct FreeContext {
  void operator()(cairo_t* context) const { functions().destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, FreeSurface>;
using Context = std::unique_ptr<cairo_t, FreeContext>;

void require(cairo_surface_t* surface) {
  if (functions().surface_status(surface) != CAIRO_STATUS_SUCCESS)
    throw Error(ErrorKind::kMemory, "the picture is too large for a PNG; let it be a file .svg");
}

class Painter {
 public:
  explicit Painter(cairo_t* context) : c_(context) {
    f_.set_join(c_, CAIRO_LINE_JOIN_ROUND);
    layout_ = f_.create_layout(c_);
    f_.set_single_paragraph(layout_, 1);
    f_.set_auto_direction(layout_, 0);
    font_ = f_.new_font();
    std::string families = kFontFamilies;
    std::erase(families, '\'');
    f_.set_font_family(font_, families.c_str());
    // A machine without Arial's widths draws its wider font smaller, as kFallbackFontRule does in browsers.
    constexpr const char* kSampleText = "learning rate 0.0123456789, epoch";
    constexpr double kSampleSize = 100;
    size_factor_ = std::min(1.0, text_width(kSampleText, kSampleSize) / lay_out(kSampleText, kSampleSize, false));
  }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;
  ~Painter() {
    f_.free_font(font_);
    f_.unref(layout_);
    f_.set_font_map(nullptr);  // lets go of this thread's fonts
  }

  void operator()(const Box& box) {
    color(box.ink, box.opacity);
    const double r = std::min({box.radius, box.width / 2, box.height / 2});
    if (r > 0) {
      const double left = box.at.x, top = box.at.y, right = left + box.width, bottom = top + box.height;
      constexpr double kQuarter = std::numbers::pi / 2;
      f_.new_path(c_);
      f_.arc(c_, right - r, top + r, r, -kQuarter, 0);
      f_.arc(c_, right - r, bottom - r, r, 0, kQuarter);
      f_.arc(c_, left + r, bottom - r, r, kQuarter, 2 * kQuarter);
      f_.arc(c_, left + r, top + r, r, 2 * kQuarter, 3 * kQuarter);
      f_.close_path(c_);
    } else {
      f_.rectangle(c_, box.at.x, box.at.y, box.width, box.height);
    }
    f_.fill(c_);
  }

  void operator()(const Polyline& line) {
    constexpr double kDashed[] = {6, 4}, kDotted[] = {1.5, 3.5};
    color(line.ink, line.opacity);
    f_.set_width(c_, line.width);
    f_.set_cap(c_, CAIRO_LINE_CAP_ROUND);
    f_.set_dash(c_, line.dash == Dash::kDotted ? kDotted : kDashed, line.dash == Dash::kSolid ? 0 : 2, 0);
    trace(line.points);
    f_.stroke(c_);
    f_.set_dash(c_, kDashed, 0, 0);
    f_.set_cap(c_, CAIRO_LINE_CAP_BUTT);
  }

  void operator()(const MarkItem& item) {
    const double r = item.radius, x = item.at.x, y = item.at.y;
    f_.new_path(c_);
    switch (item.mark) {
      case Mark::kDisc: f_.arc(c_, x, y, r, 0, 2 * std::numbers::pi); break;
      case Mark::kSquare: f_.rectangle(c_, x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r); break;
      case Mark::kTriangle:
        trace({{x, y - 1.15 * r}, {x + 1.15 * r, y + 0.85 * r}, {x - 1.15 * r, y + 0.85 * r}});
        break;
      case Mark::kDiamond: trace({{x, y - 1.3 * r}, {x + 1.3 * r, y}, {x, y + 1.3 * r}, {x - 1.3 * r, y}}); break;
      case Mark::kCross:
        trace({{x - r, y - r}, {x + r, y + r}});
        f_.move_to(c_, x + r, y - r);
        f_.line_to(c_, x - r, y + r);
        break;
    }
    if (item.mark == Mark::kTriangle || item.mark == Mark::kDiamond) f_.close_path(c_);
    f_.set_width(c_, 1.7);
    if (item.mark != Mark::kCross) {
      color(item.hollow ? Ink::kPaper : item.ink, item.opacity);
      f_.fill_and_keep(c_);
    }
    color(item.ink, item.opacity);
    if (!item.hollow && item.mark != Mark::kCross) f_.set_width(c_, 1);
    f_.stroke(c_);
  }

  void operator()(const Words& words) {
    const double wide = lay_out(printable(words.text), words.size, words.bold);
    PangoLayoutLine* const line = f_.line(layout_, 0);
    f_.save(c_);
    f_.translate(c_, words.at.x, words.at.y);
    f_.rotate(c_, words.angle * std::numbers::pi / 180);
    f_.move_to(c_, words.anchor == Anchor::kStart ? 0 : words.anchor == Anchor::kMiddle ? -wide / 2 : -wide, 0);
    color(words.ink, 1);
    f_.show_line(c_, line);
    f_.new_path(c_);
    f_.restore(c_);
  }

  void operator()(const ImageItem& item) {
    const RgbImage& image = *item.image;
    const int width = static_cast<int>(image.width), height = static_cast<int>(image.height);
    const int stride = f_.stride_of_width(CAIRO_FORMAT_RGB24, width);
    std::vector<std::uint32_t> pixels(static_cast<std::size_t>(stride) / 4 * static_cast<std::size_t>(height));
    for (std::int64_t row = 0; row < image.height; ++row)
      for (std::int64_t column = 0; column < image.width; ++column) {
        const std::uint8_t* const from = &image.rgb[static_cast<std::size_t>((row * image.width + column) * 3)];
        pixels[static_cast<std::size_t>(row * (stride / 4) + column)] =
            static_cast<std::uint32_t>(from[0]) << 16U | static_cast<std::uint32_t>(from[1]) << 8U | from[2];
      }
    const Surface surface(
        f_.surface_of_data(reinterpret_cast<unsigned char*>(pixels.data()), CAIRO_FORMAT_RGB24, width, height, stride));
    require(surface.get());
    f_.save(c_);
    f_.translate(c_, item.at.x, item.at.y);
    f_.scale(c_, item.width / width, item.height / height);
    f_.set_surface(c_, surface.get(), 0, 0);
    f_.set_filter(f_.source(c_), CAIRO_FILTER_NEAREST);
    f_.paint(c_);
    f_.restore(c_);
    color(Ink::kText, 1);  // lets go of the surface
  }

 private:
  /// Puts the text into the layout and returns its width.
  double lay_out(const std::string& text, double size, bool bold) {
    f_.set_font_size(font_, size_factor_ * size * PANGO_SCALE);
    f_.set_font_weight(font_, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    f_.set_font(layout_, font_);
    f_.set_text(layout_, text.data(), static_cast<int>(text.size()));
    int width = 0, height = 0;
    f_.size(layout_, &width, &height);
    return static_cast<double>(width) / PANGO_SCALE;
  }
  void color(Ink ink, double opacity) {
    const std::uint32_t rgb = hue(ink).light;
    const auto part = [&](unsigned shift) { return static_cast<double>(rgb >> shift & 255U) / 255; };
    f_.set_color(c_, part(16), part(8), part(0), opacity);
  }
  void trace(const std::vector<Point>& points) {
    for (const Point& point : points)
      if (&point == points.data())
        f_.move_to(c_, point.x, point.y);
      else
        f_.line_to(c_, point.x, point.y);
  }

  const pango::Functions& f_ = functions();
  cairo_t* c_;
  PangoLayout* layout_;
  PangoFontDescription* font_;
  double size_factor_ = 1;
};

RgbImage read_pixels(cairo_surface_t* surface, int width, int height) {
  functions().flush(surface);
  const unsigned char* const data = functions().data(surface);
  const int stride = functions().stride(surface);
  RgbImage image(height, width);
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const std::uint32_t pixel = reinterpret_cast<const std::uint32_t*>(data + row * stride)[column];
      std::uint8_t* const to = &image.rgb[static_cast<std::size_t>((row * width + column) * 3)];
      to[0] = static_cast<std::uint8_t>(pixel >> 16U);
      to[1] = static_cast<std::uint8_t>(pixel >> 8U);
      to[2] = static_cast<std::uint8_t>(pixel);
    }
  return image;
}

}  // namespace

bool can_png() {
  try {
    functions();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void need_png() { functions(); }

std::vector<std::uint8_t> to_png(const Drawing& drawing, double scale) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const pango::Functions& f = functions();
  const int width = static_cast<int>(std::ceil(drawing.width() * scale));
  const int height = static_cast<int>(std::ceil(drawing.height() * scale));
  const Surface surface(f.create_surface(CAIRO_FORMAT_RGB24, width, height));
  require(surface.get());
  {
    const Context context(f.create(surface.get()));
    f.scale(context.get(), scale, scale);
    Painter painter(context.get());
    painter(Box{.at = {}, .width = drawing.width(), .height = drawing.height(), .ink = Ink::kPaper});
    for (const Item& item : drawing.items()) std::visit(painter, item.what);
  }
  return encode_png(read_pixels(surface.get(), width, height));
}

}  // namespace dptrain::plot
