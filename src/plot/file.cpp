#include "plot/file.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "plot/svg.h"

namespace dptrain::plot {
namespace {

std::string suffix_of(const std::string& path) {
  std::string suffix = std::filesystem::path(path).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  return suffix;
}

}  // namespace

void require_picture(const std::string& path, const std::string& flag) {
  const std::string suffix = suffix_of(path);
  if (suffix == ".png") return need_png();
  if (suffix.empty() || suffix == ".svg") return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{} {}: pictures are written as .svg or .png, found the suffix '{}'", flag, path, suffix));
}

void write(const std::string& path, const Drawing& drawing, double scale) {
  if (suffix_of(path) == ".png") {
    const std::vector<std::uint8_t> bytes = to_png(drawing, scale);
    write_atomically(path, {std::as_bytes(std::span(bytes))});
  } else {
    const std::string text = to_svg(drawing);
    write_atomically(path, {std::as_bytes(std::span(text))});
  }
}

}  // namespace dptrain::plot
