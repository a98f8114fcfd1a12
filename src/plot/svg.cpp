#include "plot/svg.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/format.h"
#include "core/text.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

/// One decimal, omitted if it is zero: half of the file is numbers.
std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) { return i + k < bytes.size() ? static_cast<std::uint32_t>(bytes[i + k]) : 0U; };
    const std::uint32_t three = at(0) << 16U | at(1) << 8U | at(2);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k > bytes.size() ? '=' : kDigits[three >> (18U - 6U * static_cast<std::uint32_t>(k)) & 63U];
  }
  return out;
}

/// Rules for the classes f-... (fill) and s-... (stroke) of each colour, and `hollow` (filled with the paper's).
std::string colors(bool dark) {
  std::string text;
  for (const Hue& one : hues()) {
    const std::uint32_t color = dark ? one.dark : one.light;
    text += fmt::format(".f-{0}{{fill:#{1:06x}}}.s-{0}{{stroke:#{1:06x}}}\n", one.name, color);
  }
  const std::uint32_t paper = dark ? hue(Ink::kPaper).dark : hue(Ink::kPaper).light;
  return text + fmt::format(".hollow{{fill:#{0:06x}}}\n", paper);
}

std::string opacity(double value) { return value < 1 ? fmt::format(" opacity=\"{:.2g}\"", value) : ""; }

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void operator()(const Box& box) {
    open("rect");
    out_ += box.color ? fmt::format(" fill=\"#{:02x}{:02x}{:02x}\"", (*box.color)[0], (*box.color)[1], (*box.color)[2])
                      : fmt::format(" class=\"f-{}\"", hue(box.ink).name);
    out_ += fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", px(box.at.x), px(box.at.y), px(box.width),
                        px(box.height));
    if (box.radius > 0) out_ += fmt::format(" rx=\"{}\"", px(box.radius));
    out_ += opacity(box.opacity);
    close("");
  }

  void operator()(const Polyline& line) {
    constexpr std::array kDashes{"", " stroke-dasharray=\"6 4\"", " stroke-dasharray=\"1.5 3.5\""};
    open("polyline");
    out_ += fmt::format(" class=\"s-{}\" stroke-width=\"{:.2g}\"{}{} points=\"", hue(line.ink).name, line.width,
                        kDashes[static_cast<std::size_t>(line.dash)], opacity(line.opacity));
    for (const Point& point : line.points)
      out_ += fmt::format("{}{},{}", &point == line.points.data() ? "" : " ", px(point.x), px(point.y));
    out_ += '"';
    close("");
  }

  void operator()(const MarkItem& item) {
    const double r = item.radius, x = item.at.x, y = item.at.y;
    open(item.mark == Mark::kDisc ? "circle" : "path");
    const bool stroke = item.hollow || item.mark == Mark::kCross;
    out_ += fmt::format(" class=\"{0}s-{2}{1}\"{3}", item.hollow && item.mark != Mark::kCross ? "hollow " : "",
                        stroke ? "" : fmt::format(" f-{}", hue(item.ink).name), hue(item.ink).name,
                        stroke ? " stroke-width=\"1.7\"" : "");
    switch (item.mark) {
      case Mark::kDisc: out_ += fmt::format(" cx=\"{}\" cy=\"{}\" r=\"{}\"", px(x), px(y), px(r)); break;
      case Mark::kSquare: path("M{},{}h{}v{}h-{}z", x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r, 1.8 * r); break;
      case Mark::kTriangle: path("M{},{}l{},{}h-{}z", x, y - 1.15 * r, 1.15 * r, 2 * r, 2.3 * r); break;
      case Mark::kDiamond:
        path("M{},{}l{},{}l-{},{}l-{},-{}z", x, y - 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r, 1.3 * r);
        break;
      case Mark::kCross: path("M{},{}l{},{}m0,-{}l-{},{}", x - r, y - r, 2 * r, 2 * r, 2 * r, 2 * r, 2 * r); break;
    }
    out_ += opacity(item.opacity);
    close("");
  }

  void operator()(const TextItem& words) {
    constexpr std::array kAnchors{"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    open("text");
    out_ += fmt::format(" class=\"f-{}\" font-size=\"{}\"{}{}", hue(words.ink).name, px(words.size),
                        kAnchors[static_cast<std::size_t>(words.anchor)], words.bold ? " font-weight=\"bold\"" : "");
    if (words.angle == 0)
      out_ += fmt::format(" x=\"{}\" y=\"{}\"", px(words.at.x), px(words.at.y));
    else
      out_ +=
          fmt::format(" transform=\"translate({},{}) rotate({})\"", px(words.at.x), px(words.at.y), px(words.angle));
    close(xml_text(words.text));
  }

  void operator()(const ImageItem& item) {
    open("image");
    out_ += fmt::format(
        " x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
        "style=\"image-rendering:pixelated\" "
        "href=\"data:image/png;base64,{}\"",
        px(item.at.x), px(item.at.y), px(item.width), px(item.height), base64(encode_png(*item.image)));
    close("");
  }

  void title(const std::string& text) { title_ = text; }

 private:
  void open(const char* element) { out_ += fmt::format("<{}", element_ = element); }
  void close(const std::string& inside) {
    if (title_.empty() && inside.empty())
      out_ += "/>\n";
    else
      out_ += fmt::format(">{}{}</{}>\n", title_.empty() ? "" : "<title>" + xml_text(title_) + "</title>", inside,
                          element_);
  }
  template <class... Numbers>
  void path(const char* form, Numbers... numbers) {
    out_ += fmt::format(" d=\"{}\"", fmt::format(fmt::runtime(form), px(numbers)...));
  }

  std::string& out_;
  std::string title_;
  const char* element_ = "";
};

void write_items(const Drawing& drawing, std::string& out) {
  Writer writer(out);
  for (const Item& item : drawing.items()) {
    writer.title(item.title);
    std::visit(writer, item.what);
  }
}

}  // namespace

std::string svg_style_sheet() {
  // The light colours are first, without a condition, and repeated for print, which never uses the dark ones.
  return fmt::format(
      "polyline{{fill:none;stroke-linejoin:round;stroke-linecap:round}}\n"
      "{0}@media (prefers-color-scheme:dark){{\n{1}}}\n@media print{{\n{0}}}\n",
      colors(false), colors(true));
}

std::string to_svg(const Drawing& drawing) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>\n{2}"
      "text{{font-family:{3}}}\n{4}</style>\n<rect class=\"f-paper\" width=\"100%\" height=\"100%\"/>\n",
      px(drawing.width()), px(drawing.height()), kFallbackFontRule, kFontFamilies, svg_style_sheet());
  write_items(drawing, out);
  return out + "</svg>\n";
}

std::string svg_element(const Drawing& drawing, const std::string& label, bool without_title) {
  constexpr double kTitle = 40, kMargin = 20;
  const double left = without_title ? kMargin : 0, top = without_title ? kTitle : 0;
  std::string out =
      fmt::format("<svg role=\"img\" aria-label=\"{4}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">\n",
                  px(left), px(top), px(drawing.width() - 2 * left), px(drawing.height() - top), xml_text(label));
  write_items(drawing, out);
  return out + "</svg>\n";
}

}  // namespace dptrain::plot
