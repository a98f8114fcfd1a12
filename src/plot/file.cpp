#include "plot/file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "plot/svg.h"

namespace dptrain::plot {

void require_picture(const std::string& path, const std::string& flag) {
  std::filesystem::path name(path);
  std::string suffix = name.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  if (suffix.empty() || suffix == ".svg") return;
  const std::string svg = name.replace_extension(".svg").string();
  if (suffix == ".png")
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{} {}: PNG is no longer supported for charts and contact sheets; use {}", flag, path, svg));
  throw Error(ErrorKind::kUsage, fmt::format("{} {}: pictures are written as .svg, found the suffix '{}'; use {}", flag,
                                             path, suffix, svg));
}

void write(const std::string& path, const Drawing& drawing) {
  const std::string text = to_svg(drawing);
  write_atomically(path, {std::as_bytes(std::span(text))});
}

}  // namespace dptrain::plot
