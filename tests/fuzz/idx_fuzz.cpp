// IDX reader: any bytes are a valid file or an Error; memory is proportional to the input. With an odd first byte, the
// rest are the labels of a data set, which covers the code after parsing.

#include <cstdint>
#include <string>

#include "core/error.h"
#include "data/sources/idx_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dptrain;
  if (size == 0) return 0;
  const bool as_labels = (data[0] & 1U) != 0;
  data::MemoryReader reader(data + 1, size - 1, "fuzz");
  try {
    data::IdxFile file = data::parse_idx(reader);
    if (file.count * file.item.elements() * static_cast<std::int64_t>(size_of(file.type)) !=
        static_cast<std::int64_t>(file.bytes.size()))
      __builtin_trap();
    data::IdxFiles files;
    files.inputs.emplace_back("", file);
    if (as_labels) files.labels.emplace_back("", std::move(file));
    const auto source = data::make_idx_source(std::move(files), {});
    data::Array sample;
    source->read(source->size() - 1, 0, sample);
    static_cast<void>(source->fingerprint());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) __builtin_trap();
  }
  return 0;
}
