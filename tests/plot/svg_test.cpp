#include "plot/svg.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "plot/file.h"
#include "plot/svg_text.h"
#include "plot/text_width.h"

namespace dptrain::plot {
namespace {

TEST(Svg, IsLightDarkAndForPrint) {
  const std::string svg = to_svg(Drawing(100, 50));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\""));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  const std::size_t dark = svg.find("@media (prefers-color-scheme:dark)"), print = svg.find("@media print");
  ASSERT_NE(dark, std::string::npos);
  ASSERT_NE(print, std::string::npos);
  EXPECT_LT(svg.find(".f-paper{fill:#ffffff}"), dark) << "light without a condition";
  EXPECT_LT(dark, print) << "print has the last word";
  EXPECT_NE(svg.find(".f-paper{fill:#ffffff}", print), std::string::npos);
}

TEST(Svg, EveryColorThatIsUsedHasAStyle) {
  Drawing drawing(100, 50);
  for (const Hue& one : hues()) drawing.add({Box{.at = {}, .width = 1, .height = 1, .ink = one.ink}, ""});
  const std::string svg = to_svg(drawing);
  for (const Hue& one : hues())
    EXPECT_EQ(count(svg, std::string(".f-") + one.name + "{"), 3U) << "light, dark and print: " << one.name;
}

TEST(Svg, KeepsWordsAsText) {
  Drawing drawing(100, 50);
  drawing.add({TextItem{.at = {1, 2}, .text = "Gänse<b> & \"学習\" \x1b[1m\xff"}, "why"});
  const std::string svg = to_svg(drawing);
  EXPECT_NE(svg.find("<title>why</title>Gänse&lt;b&gt; &amp; &quot;学習&quot; \\x1b[1m\\xff</text>"), std::string::npos)
      << svg.substr(svg.find("<text"));
}

TEST(Svg, TitlesContainShortenedTexts) {
  Drawing drawing(100, 50);
  drawing.add_fitting({.at = {}, .text = "abcdefghijklmnopqrstuvwxyz"}, 80);
  drawing.add_fitting({.at = {}, .text = "abc"}, 80);
  const std::string svg = to_svg(drawing);
  EXPECT_EQ(count(svg, "<title>"), 1U);
  EXPECT_NE(svg.find("<title>abcdefghijklmnopqrstuvwxyz</title>"), std::string::npos);
  EXPECT_NE(svg.find(">abc</text>"), std::string::npos);
}

TEST(Svg, OmitsStylesAsAnElementOfAPage) {
  Drawing drawing(100, 50);
  drawing.add({Box{.at = {}, .width = 1, .height = 1}, ""});
  const std::string whole = svg_element(drawing, "a <picture>");
  EXPECT_TRUE(whole.starts_with(
      "<svg role=\"img\" aria-label=\"a &lt;picture&gt;\" width=\"100\" height=\"50\" viewBox=\"0 0 100 50\">"));
  EXPECT_EQ(whole.find("<style"), std::string::npos);
  EXPECT_NE(svg_element(drawing, "", true).find("width=\"60\" height=\"10\" viewBox=\"20 40 60 10\""),
            std::string::npos);
  EXPECT_NE(to_svg(drawing).find(svg_style_sheet()), std::string::npos);
}

TEST(Svg, ADocumentHasTheTypefaceAndAnElementInheritsIt) {
  const Drawing drawing(100, 50);
  EXPECT_NE(to_svg(drawing).find(std::string("text{font-family:") + kFontFamilies + "}"), std::string::npos);
  EXPECT_NE(to_svg(drawing).find(kFallbackFontRule), std::string::npos);
  EXPECT_EQ(svg_style_sheet().find("font-family"), std::string::npos);
  EXPECT_EQ(svg_element(drawing, "").find("font-family"), std::string::npos);
}

TEST(Svg, ContainsImages) {
  Drawing drawing(100, 50);
  drawing.add({ImageItem{.at = {}, .width = 10, .height = 10, .image = std::make_shared<RgbImage>(2, 3)}, ""});
  EXPECT_EQ(count(to_svg(drawing), "href=\"data:image/png;base64,iVBORw0KGgo"), 1U);
}

TEST(Picture, IsSvg) {
  for (const char* good : {"curves.svg", "CURVES.SVG", "curves", "a.b/curves", "/dev/stdout"})
    EXPECT_NO_THROW(require_picture(good, "--output")) << good;
  const std::vector<std::pair<std::string, std::string>> bad{
      {"out/curves.pdf",
       "--output out/curves.pdf: pictures are written as .svg, found the suffix '.pdf'; use out/curves.svg"},
      {"a.b/c.PNG", "--output a.b/c.PNG: PNG is no longer supported for charts and contact sheets; use a.b/c.svg"}};
  for (const auto& [path, message] : bad) try {
      require_picture(path, "--output");
      FAIL() << "accepted " << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_EQ(error.what(), message);
    }
}

}  // namespace
}  // namespace dptrain::plot
