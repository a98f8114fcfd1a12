#include "data/sources/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied in the byte order of the file");

constexpr std::string_view kNpyMagic = "\x93NUMPY";
/// NumPy writes some hundred bytes and by default reads at most 10,000.
constexpr std::uint64_t kNpyLongestHeader = 1U << 16;
constexpr std::size_t kNpyMostAxes = 32;
constexpr std::uint64_t kNpyBlockBytes = 1U << 18;

[[noreturn]] void npy_fail(const std::string& place, const std::string& words) {
  throw Error(ErrorKind::kData, place + ": " + words);
}

/// The header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class NpyHeader {
 public:
  NpyHeader(std::string_view text, const std::string& place) : text_(text), place_(place) { read(); }

  std::string descr;
  bool fortran = false;
  std::vector<std::int64_t> shape;

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    npy_fail(place_, fmt::format("damaged: the header's character {} is not {}", at_, what));
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool next_is(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) { return next_is(c) ? (++at_, true) : false; }
  void expect(char c) {
    if (!take(c)) wrong(fmt::format("'{}'", c));
  }
  bool take_word(std::string_view word) {
    blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string quoted() {
    blanks();
    const char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) wrong("the end of a word in quotes");
    const std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }
  std::int64_t number() {
    blanks();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const std::int64_t digit = text_[at_] - '0';
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10)
        npy_fail(place_, "the shape in the header is too large: an axis beyond 2^63");
      value = 10 * value + digit;
    }
    if (at_ == begin) wrong("a whole number");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
    return value;
  }
  void axes() {
    expect('(');
    while (!take(')')) {
      shape.push_back(number());
      if (shape.size() > kNpyMostAxes)
        npy_fail(place_, fmt::format("the header names more than {} axes", kNpyMostAxes));
      if (take(',')) continue;
      expect(')');
      return;
    }
  }
  void value_of(const std::string& key) {
    if (key == "descr") {
      if (next_is('['))
        npy_fail(
            place_,
            "contains records of several fields; save each as an array of its own, as numpy.save(file, a['field'])");
      descr = quoted();
    } else if (key == "fortran_order") {
      fortran = take_word("True");
      if (!fortran && !take_word("False")) wrong("True or False");
    } else if (key == "shape") {
      axes();
    } else {
      npy_fail(place_, fmt::format("damaged: the header has a key '{}'; expected descr, fortran_order and shape",
                                   printable(key)));
    }
  }
  void read() {
    std::vector<std::string> keys;
    expect('{');
    while (!take('}')) {
      keys.push_back(quoted());
      expect(':');
      value_of(keys.back());
      if (take(',')) continue;
      expect('}');
      break;
    }
    blanks();
    if (at_ != text_.size()) wrong("the header's end");
    std::sort(keys.begin(), keys.end());
    if (keys != std::vector<std::string>{"descr", "fortran_order", "shape"})
      npy_fail(place_,
               fmt::format("damaged: the header's keys are {}; expected descr, fortran_order and shape, each once",
                           keys.empty() ? "none" : printable(join(keys, ", "))));
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
};

void set_type(NpyArray& array, const std::string& descr) {
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string type = has_order ? descr.substr(1) : descr;
  static constexpr std::array kKinds{std::pair{'b', NpyArray::Kind::kBool}, std::pair{'u', NpyArray::Kind::kUnsigned},
                                     std::pair{'i', NpyArray::Kind::kSigned}, std::pair{'f', NpyArray::Kind::kFloat}};
  static constexpr std::array<std::string_view, 4> kSizes{"1", "1248", "1248", "248"};
  for (std::size_t k = 0; k < kKinds.size() && type.size() == 2; ++k) {
    if (type[0] != kKinds[k].first || kSizes[k].find(type[1]) == std::string_view::npos) continue;
    array.kind = kKinds[k].second;
    array.element_bytes = static_cast<std::uint64_t>(type[1] - '0');
    if (descr[0] == '>' && array.element_bytes > 1)
      npy_fail(
          array.place,
          fmt::format("contains big-endian numbers ({}); save it as numpy.save(file, a.astype('<{}'))", descr, type));
    return;
  }
  npy_fail(array.place, fmt::format("contains elements of the type '{}'; expected bool, whole numbers of 8 to 64 bits, "
                                    "or floats of 16, 32 or 64 bits: numpy.save(file, a.astype('float32'))",
                                    printable(descr)));
}

void set_shape(NpyArray& array, const std::vector<std::int64_t>& shape) {
  if (shape.empty()) npy_fail(array.place, "is a single value; expected one row per sample");
  std::uint64_t bytes = array.element_bytes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) npy_fail(array.place, fmt::format("is empty: axis {} is 0", axis));
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / shape[axis]))
      npy_fail(array.place,
               fmt::format("the shape in the header is too large: more than 2^63 bytes after axis {}", axis));
    bytes *= static_cast<std::uint64_t>(shape[axis]);
  }
  array.rows = shape[0];
  array.row = shape.size() == 1 ? Shape{1} : Shape({shape.begin() + 1, shape.end()});
  const std::uint64_t expected = array.data + bytes, found = array.bytes->size();
  if (expected != found)
    npy_fail(array.place,
             fmt::format("{}: {} bytes expected for {} rows of {} {}, found {}",
                         found < expected ? "truncated" : "oversized", with_commas(static_cast<std::int64_t>(expected)),
                         array.rows, array.row.str(), array.type(), with_commas(static_cast<std::int64_t>(found))));
}

/// Returns the header's text and sets `array.data` to the offset after it.
std::string header_text(NpyArray& array) {
  const FileBytes& file = *array.bytes;
  const auto need = [&](std::uint64_t bytes) {
    if (file.size() < bytes)
      npy_fail(array.place, fmt::format("truncated: the header needs {} bytes, found {}", bytes, file.size()));
  };
  if (file.size() == 0) npy_fail(array.place, "the file is empty; a .npy file is expected");
  need(kNpyMagic.size() + 2);
  std::array<char, 8> start{};
  file.read(0, std::as_writable_bytes(std::span(start)));
  if (std::string_view(start.data(), kNpyMagic.size()) != kNpyMagic)
    npy_fail(array.place, "not a .npy file: it does not begin with \\x93NUMPY; numpy.save writes such files");
  const int major = static_cast<unsigned char>(start[6]), minor = static_cast<unsigned char>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    npy_fail(array.place, fmt::format("is of version {}.{} of the format; expected 1.0, 2.0 or 3.0", major, minor));
  const std::uint64_t width = major == 1 ? 2 : 4;
  need(start.size() + width);
  std::array<std::byte, 4> raw{};
  file.read(start.size(), std::span(raw).first(width));
  std::uint32_t length = 0;
  std::memcpy(&length, raw.data(), raw.size());
  if (length > kNpyLongestHeader)
    npy_fail(array.place, fmt::format("damaged: a header of {} bytes; expected at most {}", length, kNpyLongestHeader));
  array.data = start.size() + width + length;
  need(array.data);
  std::string text(length, '\0');
  file.read(start.size() + width, std::as_writable_bytes(std::span(text)));
  return text;
}

/// IEEE 754 binary16.
float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16, exponent = half >> 10 & 0x1FU,
                      fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float tiny = static_cast<float>(fraction) / 16777216.0F;  // 2^-24
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(tiny) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// Calls f(block, offset) for consecutive blocks of the rows. `offset` counts elements from the first row. `block` has
/// elements as stored in the file.
template <class T, class F>
void each_block(const NpyArray& array, std::int64_t first, std::int64_t count, const F& f) {
  thread_local std::vector<T> block;
  const auto row = static_cast<std::uint64_t>(array.row.elements());
  const std::uint64_t all = static_cast<std::uint64_t>(count) * row;
  const std::uint64_t from = array.data + static_cast<std::uint64_t>(first) * row * sizeof(T);
  for (std::uint64_t done = 0; done < all;) {
    block.resize(static_cast<std::size_t>(std::min(all - done, kNpyBlockBytes / sizeof(T))));
    array.bytes->read(from + done * sizeof(T), std::as_writable_bytes(std::span(block)));
    f(block, done);
    done += block.size();
  }
}

/// Calls f(T{}) with the type of the array's elements.
template <class F>
void with_element(const NpyArray& array, const F& f) {
  const std::uint64_t bytes = array.element_bytes;
  if (array.kind == NpyArray::Kind::kFloat)
    return bytes == 2 ? f(std::uint16_t{}) : bytes == 4 ? f(float{}) : f(double{});
  if (array.kind == NpyArray::Kind::kSigned)
    return bytes == 1   ? f(std::int8_t{})
           : bytes == 2 ? f(std::int16_t{})
           : bytes == 4 ? f(std::int32_t{})
                        : f(std::int64_t{});
  return bytes == 1   ? f(std::uint8_t{})
         : bytes == 2 ? f(std::uint16_t{})
         : bytes == 4 ? f(std::uint32_t{})
                      : f(std::uint64_t{});
}

}  // namespace

std::string NpyArray::type() const {
  switch (kind) {
    case Kind::kBool: return "bool";
    case Kind::kUnsigned: return fmt::format("uint{}", 8 * element_bytes);
    case Kind::kSigned: return fmt::format("int{}", 8 * element_bytes);
    case Kind::kFloat: break;
  }
  return fmt::format("float{}", 8 * element_bytes);
}

const FileErrors& array_file_errors() {
  static const FileErrors file_errors{
      .cannot_open =
          [](const std::string& path, const std::string& reason) {
            return Error(ErrorKind::kData, path + ": cannot open: " + reason);
          },
      .damaged = [](const std::string& name,
                    const std::string& what) { return Error(ErrorKind::kData, name + ": damaged: " + what); },
      .refused = [](const std::string& name,
                    const std::string& what) { return Error(ErrorKind::kData, name + ": " + what); },
  };
  return file_errors;
}

NpyArray parse_npy(std::shared_ptr<const FileBytes> bytes, std::string place) {
  NpyArray array{.place = std::move(place), .bytes = std::move(bytes), .row = {}};
  const std::string text = header_text(array);
  const NpyHeader header(text, array.place);
  set_type(array, header.descr);
  if (header.fortran && header.shape.size() > 1)
    npy_fail(
        array.place,
        "is in Fortran order, where a row is not contiguous; save it as numpy.save(file, numpy.ascontiguousarray(a))");
  set_shape(array, header.shape);
  return array;
}

void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, std::uint8_t* out) {
  const bool is_bool = array.kind == NpyArray::Kind::kBool;
  each_block<std::uint8_t>(array, first, count, [&](const auto& block, std::uint64_t at) {
    std::ranges::transform(
        block, out + at, [&](std::uint8_t byte) { return static_cast<std::uint8_t>(is_bool && byte != 0 ? 1 : byte); });
  });
}

void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, float* out) {
  const bool is_bool = array.kind == NpyArray::Kind::kBool, is_float = array.kind == NpyArray::Kind::kFloat;
  with_element(array, [&]<class T>(T) {
    each_block<T>(array, first, count, [&](const auto& block, std::uint64_t at) {
      std::ranges::transform(block, out + at, [&](T value) {
        if constexpr (std::is_same_v<T, std::uint16_t>)
          if (is_float) return half_to_float(value);
        return is_bool && value != 0 ? 1.0F : static_cast<float>(value);
      });
    });
  });
}

void read_npy(const NpyArray& array, std::int64_t first, std::int64_t count, std::int32_t* out) {
  const std::int64_t row = array.row.elements();
  const bool is_bool = array.kind == NpyArray::Kind::kBool;
  with_element(array, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      each_block<T>(array, first, count, [&](const auto& block, std::uint64_t at) {
        for (std::size_t i = 0; i < block.size(); ++i) {
          if (!std::in_range<std::int32_t>(block[i]))
            npy_fail(fmt::format("{}, row {}", array.place, first + (static_cast<std::int64_t>(at + i)) / row),
                     fmt::format("contains {}; int32 ranges from {} to {}", block[i],
                                 std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
          out[at + i] = is_bool && block[i] != 0 ? 1 : static_cast<std::int32_t>(block[i]);
        }
      });
  });
}

namespace {

/// "<f4", the type with its byte order.
std::string npy_type(DType type) {
  switch (type) {
    case DType::kF32: return "<f4";
    case DType::kF64: return "<f8";
    case DType::kU8: return "|u1";
    case DType::kI8: return "|i1";
    case DType::kI16: return "<i2";
    case DType::kI32: return "<i4";
    case DType::kF16:
    case DType::kBf16: break;
  }
  throw Error(ErrorKind::kInternal, fmt::format("no .npy files of {} are written", name_of(type)));
}

/// Digits for which the header has space, so that it can be replaced when the number of rows is known.
constexpr std::size_t kNpyRowDigits = 21;
/// Elements begin at a multiple of this.
constexpr std::size_t kNpyAlignment = 64;

}  // namespace

NpyWriter::NpyWriter(const std::string& path, DType type, const Shape& row) : file_(path), type_(type), row_(row) {
  const std::string text = header();
  file_.append(std::as_bytes(std::span(text)));
  header_bytes_ = text.size();
}

std::int64_t NpyWriter::rows() const {
  if (header_bytes_ == 0) return 0;
  const std::uint64_t row = static_cast<std::uint64_t>(row_.elements()) * size_of(type_);
  return static_cast<std::int64_t>((file_.size() - header_bytes_) / row);
}

std::string NpyWriter::header() const {
  const std::string rows = std::to_string(this->rows());
  std::string shape = rows + ",";
  for (const std::int64_t extent : row_.dims()) shape += fmt::format(" {},", extent);
  if (row_.rank() > 0) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_type(type_), shape);
  // The same bytes as of numpy.save.
  const std::size_t start = kNpyMagic.size() + 4, least = start + text.size() + kNpyRowDigits - rows.size() + 1;
  const std::size_t length = least - start + kNpyAlignment - least % kNpyAlignment;
  text.resize(length - 1, ' ');
  return fmt::format("{}\x01{}{}{}{}\n", kNpyMagic, '\0', static_cast<char>(length & 0xFFU),
                     static_cast<char>(length >> 8U), text);
}

void NpyWriter::finish() {
  const std::string text = header();
  file_.replace_head(std::as_bytes(std::span(text)));
  file_.commit();
}

}  // namespace dptrain::data
