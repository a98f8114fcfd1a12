#include "data/sources/fixed_records.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"

namespace dptrain::data {
namespace {

/// Labels of small records are extracted from blocks of this size; larger records are read one by one.
constexpr std::int64_t kBlockBytes = 1 << 20;
constexpr std::int64_t kSmallRecord = 1 << 14;

/// A file open for random access.
class RecordFile {
 public:
  RecordFile(std::string path, const RecordLayout& layout) : path_(std::move(path)), layout_(layout) {
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd_ < 0 || fstat(fd_, &info) != 0) fail("cannot open: " + std::generic_category().message(errno));
    if (!S_ISREG(info.st_mode)) fail("is not a file");
    const std::int64_t bytes = info.st_size - layout.header - layout.footer;
    if (bytes <= 0)
      fail(fmt::format("{} bytes; expected a header of {}, records of {} and a footer of {}", with_commas(info.st_size),
                       layout.header, layout.record, layout.footer));
    if (bytes % layout.record != 0)
      fail(fmt::format("truncated or of another layout: {} bytes are {} records of {} bytes and {} more",
                       with_commas(bytes), with_commas(bytes / layout.record), layout.record, bytes % layout.record));
    records_ = bytes / layout.record;
    size_ = info.st_size;
  }
  ~RecordFile() {
    if (fd_ >= 0) close(fd_);
  }
  RecordFile(RecordFile&& other) noexcept
      : path_(std::move(other.path_)),
        layout_(other.layout_),
        fd_(std::exchange(other.fd_, -1)),
        records_(other.records_),
        size_(other.size_) {}
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  RecordFile& operator=(RecordFile&&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t records() const { return records_; }
  std::int64_t size() const { return size_; }

  /// Reads `count` bytes at offset `at` of a record.
  void read(std::int64_t record, std::int64_t at, std::int64_t count, std::uint8_t* to) const {
    std::int64_t offset = layout_.header + record * layout_.record + at;
    while (count > 0) {
      const ssize_t got = pread(fd_, to, static_cast<std::size_t>(count), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        fail(fmt::format("byte {}: cannot read: {}", with_commas(offset),
                         got == 0 ? "the file was truncated" : std::generic_category().message(errno)));
      count -= got, offset += got, to += got;
    }
  }

 private:
  [[noreturn]] void fail(const std::string& words) {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
    std::as_const(*this).fail(words);
  }
  [[noreturn]] void fail(const std::string& words) const { throw Error(ErrorKind::kData, path_ + ": " + words); }

  std::string path_;
  RecordLayout layout_;
  int fd_ = -1;
  std::int64_t records_ = 0, size_ = 0;
};

std::uint32_t unsigned_number(const std::uint8_t* bytes, std::int64_t count, bool big_endian) {
  std::uint32_t value = 0;
  for (std::int64_t i = 0; i < count; ++i) value = value << 8 | bytes[big_endian ? i : count - 1 - i];
  return value;
}

std::vector<std::int32_t> read_labels(const std::vector<RecordFile>& files, const RecordLayout& layout) {
  std::vector<std::int32_t> labels;
  if (layout.label_bytes == 0) return labels;
  const bool small = layout.record <= kSmallRecord;
  const std::int64_t at_once = small ? kBlockBytes / layout.record : 1;
  std::vector<std::uint8_t> block(static_cast<std::size_t>(small ? at_once * layout.record : layout.label_bytes));
  for (const RecordFile& file : files)
    for (std::int64_t first = 0; first < file.records(); first += at_once) {
      const std::int64_t count = std::min(at_once, file.records() - first);
      small ? file.read(first, 0, count * layout.record, block.data())
            : file.read(first, layout.label_at, layout.label_bytes, block.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint8_t* const label = block.data() + (small ? i * layout.record + layout.label_at : 0);
        labels.push_back(static_cast<std::int32_t>(unsigned_number(label, layout.label_bytes, layout.big_endian)));
      }
    }
  return labels;
}

/// Converts elements in the file's byte order to floats.
template <class T, class Bits>
void to_floats(const std::uint8_t* from, bool big_endian, std::vector<float>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint8_t bytes[sizeof(T)];
    std::memcpy(bytes, from + i * sizeof(T), sizeof(T));
    if (big_endian != (std::endian::native == std::endian::big)) std::reverse(bytes, bytes + sizeof(T));
    Bits bits;
    std::memcpy(&bits, bytes, sizeof(T));
    to[i] = static_cast<float>(std::bit_cast<T>(bits));
  }
}

void decode(const std::uint8_t* from, DType type, bool big_endian, std::vector<float>& to) {
  switch (type) {
    case DType::kI8: return to_floats<std::int8_t, std::uint8_t>(from, big_endian, to);
    case DType::kI16: return to_floats<std::int16_t, std::uint16_t>(from, big_endian, to);
    case DType::kI32: return to_floats<std::int32_t, std::uint32_t>(from, big_endian, to);
    case DType::kF32: return to_floats<float, std::uint32_t>(from, big_endian, to);
    case DType::kF64: return to_floats<double, std::uint64_t>(from, big_endian, to);
    default: throw Error(ErrorKind::kInternal, "records of " + std::string(name_of(type)));
  }
}

/// [C, H, W] to [H, W, C].
template <class T>
void channels_last(const std::vector<T>& from, const Shape& shape, std::vector<T>& to) {
  const std::int64_t channels = shape[2], pixels = shape[0] * shape[1];
  to.resize(from.size());
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t p = 0; p < pixels; ++p)
      to[static_cast<std::size_t>(p * channels + c)] = from[static_cast<std::size_t>(c * pixels + p)];
}

class FixedRecords final : public Source {
 public:
  FixedRecords(std::vector<RecordFile> files, const RecordLayout& layout, std::vector<std::string> class_names,
               const std::string& kind)
      : files_(std::move(files)),
        layout_(layout),
        labels_(read_labels(files_, layout)),
        class_names_(std::move(class_names)) {
    for (const RecordFile& file : files_) ends_.push_back(size() + file.records());
    fingerprint_ = fmt::format("{}:{}:{}:{}:{:016x}", kind, size(), layout.shape.str(), name_of(layout.type), hash());
  }

  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return layout_.shape; }

  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    thread_local std::vector<std::uint8_t> bytes, planes;
    thread_local std::vector<float> values;
    const auto elements = static_cast<std::size_t>(layout_.shape.elements());
    const auto [file, record] = place(index);
    bytes.resize(elements * size_of(layout_.type));
    file->read(record, layout_.data_at, static_cast<std::int64_t>(bytes.size()), bytes.data());
    out.shape = layout_.shape;
    out.type = layout_.type == DType::kU8 ? DType::kU8 : DType::kF32;
    if (out.type == DType::kU8) {
      layout_.channels_first ? channels_last(bytes, layout_.shape, out.u8) : out.u8.swap(bytes);
      return;
    }
    std::vector<float>& decoded = layout_.channels_first ? values : out.f32;
    decoded.resize(elements);
    decode(bytes.data(), layout_.type, layout_.big_endian, decoded);
    if (layout_.channels_first) channels_last(values, layout_.shape, out.f32);
  }

  LabelType label_type(int) const override { return layout_.label_bytes == 0 ? LabelType::kNone : LabelType::kClass; }
  std::int64_t label_width(int) const override { return 1; }
  std::int64_t label_class(std::int64_t index, int) const override { return labels_[static_cast<std::size_t>(index)]; }
  void label_values(std::int64_t, float*, int) const override {
    throw Error(ErrorKind::kInternal, "records have classes, no values");
  }
  std::string label_place(std::int64_t index, int) const override {
    const auto [file, record] = place(index);
    return fmt::format("{}, record {}", file->path(), record);
  }
  std::vector<std::string> class_names(int) const override { return class_names_; }
  std::string fingerprint() const override { return fingerprint_; }
  std::string cache_key() const override {
    std::uint64_t hash = kHashStart;
    for (const RecordFile& file : files_) hash = hash_stamp(file.path(), hash);
    return fmt::format("{}, {} of {} bytes, {} {}, files {:016x}", fingerprint_, layout_.data_at, layout_.record,
                       layout_.channels_first ? "channels first" : "channels last",
                       layout_.big_endian ? "big endian" : "little endian", hash);
  }

 private:
  std::pair<const RecordFile*, std::int64_t> place(std::int64_t index) const {
    const auto which = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    return {&files_[which], index - (which == 0 ? 0 : ends_[which - 1])};
  }

  /// Hashes sizes, all labels, and the first and last record of every file.
  std::uint64_t hash() const {
    std::uint64_t hash = hash_bytes(labels_.data(), labels_.size() * sizeof(std::int32_t));
    std::vector<std::uint8_t> record(static_cast<std::size_t>(layout_.record));
    for (const RecordFile& file : files_) {
      hash = hash_number(static_cast<std::uint64_t>(file.size()), hash);
      for (const std::int64_t which : {std::int64_t{0}, file.records() - 1}) {
        file.read(which, 0, layout_.record, record.data());
        hash = hash_bytes(record.data(), record.size(), hash);
      }
    }
    return hash;
  }

  std::vector<RecordFile> files_;
  RecordLayout layout_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> ends_;
  std::vector<std::string> class_names_;
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Source> open_records(const std::vector<std::string>& files, const RecordLayout& layout,
                                           std::vector<std::string> class_names, const std::string& kind) {
  std::vector<RecordFile> opened;
  opened.reserve(files.size());
  for (const std::string& file : files) opened.emplace_back(file, layout);
  return std::make_shared<FixedRecords>(std::move(opened), layout, std::move(class_names), kind);
}

}  // namespace dptrain::data

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
    if (extent < 1) return fmt::format("shape must contain only numbers >= 1, found {}", extent);
    elements *= static_cast<double>(extent);
  }
  if (elements > 1e12) return "shape is too large: more than 1e12 elements";
  if (spec.data_format == DataFormat::kChannelsFirst && spec.shape.size() != 3)
    return "data_format channels_first needs a shape of height, width and channels";
  if (!spec.record_bytes) return "";
  FixedRecordsSpec natural = spec;
  natural.record_bytes.reset();
  const std::int64_t needed = layout_of(natural).record;
  if (*spec.record_bytes < needed)
    return fmt::format("record_bytes is {}, but label and data need {}", *spec.record_bytes, needed);
  return "";
}

const RegisteredDataset kFixedRecordsSet = dataset_def<FixedRecordsSpec>(
    config::Schema::of<FixedRecordsSpec>("FixedRecords")
        .doc("binary files of a header, records of one length, and a footer; a record is a sample")
        .key(key("files", &FixedRecordsSpec::files).required().doc("a file, or a list that is read in order"))
        .key(key("shape", &FixedRecordsSpec::shape)
                 .required()
                 .doc("shape of a sample in the model, [height, width, channels] for an image"))
        .key(key("dtype", &FixedRecordsSpec::dtype).doc("type of the values in the file"))
        .key(key("data_format", &FixedRecordsSpec::data_format)
                 .doc("order of the axes of an image in the file; channels_first: planes"))
        .key(key("byte_order", &FixedRecordsSpec::byte_order).doc("byte order of labels and values of several bytes"))
        .key(key("label_bytes", &FixedRecordsSpec::label_bytes)
                 .doc("size of the label, an unsigned integer of 1, 2 or 4 bytes; 0: no labels"))
        .key(key("label_offset", &FixedRecordsSpec::label_offset).at_least(0).doc("offset of the label in the record"))
        .key(key("data_offset", &FixedRecordsSpec::data_offset)
                 .at_least(0)
                 .doc("offset of the data in the record; default: after the label"))
        .key(key("record_bytes", &FixedRecordsSpec::record_bytes)
                 .at_least(1)
                 .doc("bytes of a record; default: those of label and data"))
        .key(key("header_bytes", &FixedRecordsSpec::header_bytes)
                 .at_least(0)
                 .doc("bytes to skip at the beginning of every file"))
        .key(key("footer_bytes", &FixedRecordsSpec::footer_bytes)
                 .at_least(0)
                 .doc("bytes to skip at the end of every file"))
        .rule<FixedRecordsSpec>(check),
    [](const FixedRecordsSpec& spec, const ModelSide&, Role) {
      std::vector<std::string> files;
      for (const config::Path& file : spec.files) files.push_back(file.value);
      return open_records(files, layout_of(spec), spec.class_names.first(), "records");
    },
    [](const FixedRecordsSpec& spec) { return spec.files; });

}  // namespace
}  // namespace dptrain::data
