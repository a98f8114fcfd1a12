// Reads any bytes as a checkpoint: state, weights and description are read or rejected with Error{kCheckpoint}. The
// seeds have no seal, as it would reject every change.

#include <cstdlib>

#include "core/error.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"

namespace {

using namespace dptrain;  // NOLINT(google-build-using-namespace)

template <class Read>
void attempt(const std::vector<std::byte>& bytes, const Read& read) {
  try {
    read(formats::FileContents::from_bytes(formats::checkpoint_bytes("fuzz.h5", bytes)));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCheckpoint) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static graph::Model model = formats::sample::small_dense();
  const auto span = std::as_bytes(std::span(data, size));
  const std::vector<std::byte> bytes(span.begin(), span.end());
  attempt(bytes, [](const formats::FileContents& contents) { contents.state(); });
  attempt(bytes, [](const formats::FileContents& contents) { load_weights(contents, model); });
  attempt(bytes, [](const formats::FileContents& contents) { describe_file(contents); });
  return 0;
}
