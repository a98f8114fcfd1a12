// The config's FixedRecords: its keys and what they say about a record.

#include "core/error.h"
#include "core/format.h"
#include "data/sources/fixed_records.h"

namespace dptrain::config {
template <>
struct EnumNames<data::RecordType> {
  static constexpr std::array names{
      std::pair{data::RecordType::kU8, "uint8"},    std::pair{data::RecordType::kI8, "int8"},
      std::pair{data::RecordType::kI16, "int16"},   std::pair{data::RecordType::kI32, "int32"},
      std::pair{data::RecordType::kF32, "float32"}, std::pair{data::RecordType::kF64, "float64"}};
};
template <>
struct EnumNames<data::DataFormat> {
  static constexpr std::array names{std::pair{data::DataFormat::kChannelsLast, "channels_last"},
                                    std::pair{data::DataFormat::kChannelsFirst, "channels_first"}};
};
template <>
struct EnumNames<data::ByteOrder> {
  static constexpr std::array names{std::pair{data::ByteOrder::kLittle, "little"},
                                    std::pair{data::ByteOrder::kBig, "big"}};
};
}  // namespace dptrain::config

namespace dptrain::data {
namespace {

DType type_of(RecordType type) {
  switch (type) {
    case RecordType::kU8: return DType::kU8;
    case RecordType::kI8: return DType::kI8;
    case RecordType::kI16: return DType::kI16;
    case RecordType::kI32: return DType::kI32;
    case RecordType::kF32: return DType::kF32;
    case RecordType::kF64: return DType::kF64;
  }
  return DType::kU8;
}

RecordLayout layout_of(const FixedRecordsSpec& spec) {
  RecordLayout layout;
  layout.header = spec.header_bytes;
  layout.footer = spec.footer_bytes;
  layout.label_at = spec.label_offset;
  layout.label_bytes = spec.label_bytes;
  layout.data_at = spec.data_offset.value_or(spec.label_bytes == 0 ? 0 : spec.label_offset + spec.label_bytes);
  layout.shape = Shape(spec.shape);
  layout.type = type_of(spec.dtype);
  layout.channels_first = spec.data_format == DataFormat::kChannelsFirst;
  layout.big_endian = spec.byte_order == ByteOrder::kBig;
  const std::int64_t data_end =
      layout.data_at + layout.shape.elements() * static_cast<std::int64_t>(size_of(layout.type));
  const std::int64_t end = std::max(data_end, layout.label_bytes == 0 ? 0 : layout.label_at + layout.label_bytes);
  layout.record = spec.record_bytes.value_or(end);
  return layout;
}

std::string check(const FixedRecordsSpec& spec) {
  if (spec.label_bytes != 0 && spec.label_bytes != 1 && spec.label_bytes != 2 && spec.label_bytes != 4)
    return fmt::format("label_bytes must be 0, 1, 2 or 4, found {}", spec.label_bytes);
  double elements = 1;
  for (const std::int64_t extent : spec.shape) {
    if (extent < 1) return fmt::format("shape must hold numbers >= 1, found {}", extent);
    elements *= static_cast<double>(extent);
  }
  if (elements > 1e12) return "shape is absurd: more than 1e12 elements";
  if (spec.data_format == DataFormat::kChannelsFirst && spec.shape.size() != 3)
    return "data_format channels_first needs a shape of height, width and channels";
  if (!spec.record_bytes) return "";
  FixedRecordsSpec natural = spec;
  natural.record_bytes.reset();
  const std::int64_t needed = layout_of(natural).record;
  if (*spec.record_bytes < needed)
    return fmt::format("record_bytes is {}, but label and data take {}", *spec.record_bytes, needed);
  return "";
}

}  // namespace

namespace {

const RegisteredDataset kFixedRecordsSet = dataset_def<FixedRecordsSpec>(
    config::Schema::of<FixedRecordsSpec>("FixedRecords")
        .key(key("files", &FixedRecordsSpec::files).required().doc("one file or a list, one after the other"))
        .key(key("shape", &FixedRecordsSpec::shape)
                 .required()
                 .doc("of a sample, as the model gets it: [height, width, channels]"))
        .key(key("dtype", &FixedRecordsSpec::dtype).doc("type of the values in the file"))
        .key(key("data_format", &FixedRecordsSpec::data_format).doc("how an image lies in the file"))
        .key(key("byte_order", &FixedRecordsSpec::byte_order).doc("of labels and values of several bytes"))
        .key(key("label_bytes", &FixedRecordsSpec::label_bytes)
                 .doc("an unsigned integer of 1, 2 or 4 bytes; 0: no labels"))
        .key(key("label_offset", &FixedRecordsSpec::label_offset).at_least(0).doc("in the record"))
        .key(key("data_offset", &FixedRecordsSpec::data_offset)
                 .at_least(0)
                 .doc("in the record; default: behind the label"))
        .key(key("record_bytes", &FixedRecordsSpec::record_bytes)
                 .at_least(1)
                 .doc("default: as many as label and data take"))
        .key(key("header_bytes", &FixedRecordsSpec::header_bytes).at_least(0).doc("of every file"))
        .key(key("footer_bytes", &FixedRecordsSpec::footer_bytes).at_least(0).doc("of every file"))
        .rule<FixedRecordsSpec>(check),
    [](const FixedRecordsSpec& spec, const ModelSide&, Role) {
      std::vector<std::string> files;
      for (const config::Path& file : spec.files) files.push_back(file.value);
      return open_records(files, layout_of(spec), spec.class_names.first(), "records");
    },
    [](const FixedRecordsSpec& spec) { return spec.files; });

}  // namespace

}  // namespace dptrain::data
