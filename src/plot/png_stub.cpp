// In place of cairo/, where the headers of Pango and Cairo were not there when dptrain was built.

#include "core/error.h"
#include "plot/file.h"

namespace dptrain::plot {

bool can_png() { return false; }

void need_png() {
  throw Error(ErrorKind::kUsage,
              "this dptrain was built without the headers of Pango and draws no PNG; .svg works, and so does a build "
              "with libpango1.0-dev");
}

std::vector<std::uint8_t> to_png(const Drawing&, double) { return need_png(), std::vector<std::uint8_t>(); }

}  // namespace dptrain::plot
