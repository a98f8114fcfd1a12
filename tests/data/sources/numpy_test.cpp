// NumPy files: written by numpy (tests/golden/numpy.json), damaged at every offset, and as a data set.

#include "data/sources/numpy.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/loader.h"
#include "data/sources/npy.h"
#include "support/folder.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kAllInMemory = 1 << 30, kNothingInMemory = 0;

const json& golden_numpy() {
  static const json values = json::parse(std::ifstream(dptrain::test::test_data("golden/numpy.json")));
  return values;
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}
Bytes numpy_file(const std::string& name) { return from_hex(golden_numpy()["files"][name]); }

NpyArray parse_array(const Bytes& bytes) {
  const auto* const data = reinterpret_cast<const std::byte*>(bytes.data());
  return parse_npy(FileBytes::from_memory("a.npy", {data, data + bytes.size()}, array_file_errors()), "a.npy");
}

/// A file of version 1.0 with that header.
Bytes npy_bytes(const std::string& header, const Bytes& elements) {
  const std::string start = "\x93NUMPY\x01";
  Bytes bytes(start.begin(), start.end());
  bytes.push_back(0);
  bytes.push_back(static_cast<std::uint8_t>(header.size() & 255U));
  bytes.push_back(static_cast<std::uint8_t>(header.size() >> 8U));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}
std::string header_of(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}
template <class T>
Bytes little_endian(const std::vector<T>& values) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}

double expected_number(const std::string& type, int i) {
  if (type == "bool") return i % 3 == 0 ? 1 : 0;
  if (type[0] == 'u') return (3 * i) % (type == "u1" ? 256 : 1 << 30);
  return type[0] == 'f' ? (3 * i - 7) / 2.0 : 3 * i - 7;
}

TEST(Npy, WritesTheBytesOfNumpy) {
  const dptrain::test::Folder folder;
  for (const auto& [name, type] : {std::pair{"f4", DType::kF32}, std::pair{"u1", DType::kU8},
                                   std::pair{"i2", DType::kI16}, std::pair{"f8", DType::kF64}}) {
    const Bytes expected = numpy_file(name);
    const std::size_t bytes = 5 * 6 * size_of(type);
    const auto elements = std::as_bytes(std::span(expected)).last(bytes);
    NpyWriter file(folder / "a.npy", type, {2, 3});
    file.append(elements.first(bytes / 5));
    file.append(elements.subspan(bytes / 5));
    file.finish();
    EXPECT_EQ(read_all(folder / "a.npy"), expected) << name;
  }
}

TEST(Npy, WritesAnyNumberOfRowsAndAxes) {
  const dptrain::test::Folder folder;
  const auto written = [&](const Shape& row, std::size_t rows) {
    NpyWriter file(folder / "a.npy", DType::kU8, row);
    const std::vector<std::byte> bytes(rows * static_cast<std::size_t>(row.elements()));
    file.append(bytes);
    file.finish();
    const Bytes found = read_all(folder / "a.npy");
    EXPECT_EQ((found.size() - bytes.size()) % 64, 0U);
    return found;
  };
  for (const std::size_t rows : {1U, 9U, 10U, 12'345U}) {
    const NpyArray array = parse_array(written({2, 1, 3}, rows));
    EXPECT_EQ(array.rows, static_cast<std::int64_t>(rows));
    EXPECT_EQ(array.row, (Shape{2, 1, 3}));
  }
  EXPECT_EQ(parse_array(written({}, 7)).rows, 7);
  const Bytes empty = written({4}, 0);
  EXPECT_THAT(std::string(empty.begin(), empty.end()), HasSubstr("'shape': (0, 4), }"));
  const Bytes scalars = written({}, 7);
  EXPECT_THAT(std::string(scalars.begin(), scalars.end()), HasSubstr("'shape': (7,), }"));
}

TEST(Npy, EveryTypeAsNumpyWritesIt) {
  for (const char* type :
       {"bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "version2", "version3"}) {
    SCOPED_TRACE(type);
    const std::string of = std::string(type).starts_with("version") ? "f4" : type;
    const NpyArray array = parse_array(numpy_file(type));
    EXPECT_EQ(array.rows, 5);
    EXPECT_EQ(array.row, (Shape{2, 3}));
    std::vector<float> floats(18);
    read_npy(array, 1, 3, floats.data());
    for (int i = 0; i < 18; ++i) EXPECT_EQ(floats[static_cast<std::size_t>(i)], expected_number(of, 6 + i));
    if (!array.is_integer()) continue;
    std::vector<std::int32_t> ids(6);
    read_npy(array, 4, 1, ids.data());
    for (int i = 0; i < 6; ++i) EXPECT_EQ(ids[static_cast<std::size_t>(i)], expected_number(of, 24 + i));
    EXPECT_EQ(array.is_bytes(), of == "bool" || of == "u1");
    if (!array.is_bytes()) continue;
    std::vector<std::uint8_t> bytes(6);
    read_npy(array, 2, 1, bytes.data());
    for (int i = 0; i < 6; ++i) EXPECT_EQ(bytes[static_cast<std::size_t>(i)], expected_number(of, 12 + i));
  }
}

TEST(Npy, HalfFloatsFromTheLeastToInfinity) {
  const NpyArray array = parse_array(from_hex(golden_numpy()["halves"]["file"]));
  std::vector<float> found(static_cast<std::size_t>(array.rows));
  read_npy(array, 0, array.rows, found.data());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string text = golden_numpy()["halves"]["values"][i];
    EXPECT_EQ(found[i], std::stof(text)) << text;
    EXPECT_EQ(std::signbit(found[i]), text[0] == '-') << text;
  }
}

TEST(Npy, UnreadableTypesSuggestAConversion) {
  const auto words = [](const std::string& name) {
    return error_of(ErrorKind::kData, [&] { parse_array(numpy_file(name)); });
  };
  EXPECT_THAT(words("fortran"), HasSubstr("numpy.ascontiguousarray(a)"));
  EXPECT_THAT(words("big_endian"), HasSubstr("a.astype('<f4')"));
  EXPECT_THAT(words("complex"), HasSubstr("elements of the type '<c8'; expected"));
  EXPECT_THAT(words("object"), HasSubstr("elements of the type '|O'"));
  EXPECT_THAT(words("records"), HasSubstr("a['field']"));
  EXPECT_THAT(words("scalar"), HasSubstr("a single value"));
}

TEST(Npy, RejectsTruncatedAndTooLongFiles) {
  for (const char* name : {"f4", "version2", "vector"}) {
    Bytes bytes = numpy_file(name);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_THAT(error_of(ErrorKind::kData, [&] { parse_array(Bytes(bytes.data(), bytes.data() + length)); }),
                  testing::StartsWith("a.npy: "))
          << length;
    bytes.push_back(0);
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { parse_array(bytes); }), HasSubstr("oversized"));
  }
}

TEST(Npy, FlippedHeaderBytesAreErrorsOrHarmless) {
  const Bytes whole = numpy_file("i4");
  for (std::size_t at = 0; at < 128; ++at)
    for (const int flip : {0x01, 0x10, 0x80, 0xFF}) {
      Bytes bytes = whole;
      bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ flip);
      try {
        const NpyArray array = parse_array(bytes);
        std::vector<float> all(static_cast<std::size_t>(array.rows * array.row.elements()));
        read_npy(array, 0, array.rows, all.data());
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
      }
    }
}

TEST(Npy, RejectsHeadersThatDoNotFit) {
  const auto words = [](const std::string& header, const Bytes& elements = {}) {
    return error_of(ErrorKind::kData, [&] { parse_array(npy_bytes(header, elements)); });
  };
  EXPECT_THAT(words(header_of("<f4", "(99999999999999999999,)")), HasSubstr("too large"));
  EXPECT_THAT(words(header_of("<f8", "(4294967296, 4294967296)")),
              HasSubstr("too large: more than 2^63 bytes after axis 1"));
  EXPECT_THAT(words(header_of("<f4", "(1000000000000,)")), HasSubstr("truncated: 4,000,000,000,0"));
  EXPECT_THAT(words(header_of("<f4", "(3, 0)")), HasSubstr("is empty: axis 1 is 0"));
  EXPECT_THAT(words(header_of("<f4", "(-3,)")), HasSubstr("not a whole number"));
  EXPECT_THAT(words(header_of("<f4", "(3")), HasSubstr("damaged"));
  EXPECT_THAT(words(header_of("f3", "(3,)")), HasSubstr("'f3'"));
  EXPECT_THAT(words("{'descr': '<f4', 'shape': (3,)}"), HasSubstr("keys are descr, shape"));
  EXPECT_THAT(words("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}"), HasSubstr("True or False"));
  EXPECT_THAT(words("{'descr': '<f4', 'color': 3}"), HasSubstr("a key 'color'"));
  EXPECT_THAT(words("{'descr': '<f4"), HasSubstr("damaged"));
  EXPECT_THAT(words("{}"), HasSubstr("keys are none"));
  EXPECT_THAT(words(""), HasSubstr("damaged"));
  Bytes version = npy_bytes(header_of("<f4", "(1,)"), little_endian<float>({1}));
  version[6] = 9;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { parse_array(version); }), HasSubstr("version 9.0"));
  Bytes longest = numpy_file("version2");
  longest[10] = 0xFF;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { parse_array(longest); }), HasSubstr("expected at most 65536"));
}

class NumpyFiles : public testing::Test {
 protected:
  std::string file(const std::string& name, const Bytes& bytes) const { return write_plain(folder_.file(name), bytes); }
  static NumpyArrays files(const std::vector<std::pair<std::string, std::string>>& paths) {
    NumpyArrays arrays;
    for (const auto& [name, path] : paths) arrays.entries.push_back({.name = name, .array = "", .path = {path}});
    return arrays;
  }
  static NumpyArrays array(const std::string& name) { return {{{.name = "", .array = name, .path = {}}}}; }

  const TempFolder folder_;
};

TEST_F(NumpyFiles, RowsLabelsAndWeights) {
  NumpySpec spec;
  spec.inputs = files({{"", file("x.npy", numpy_file("i2"))}});
  spec.labels = files({{"", file("y.npy", numpy_file("vector"))}});
  spec.sample_weight =
      files({{"", file("w.npy", npy_bytes(header_of("<f8", "(5,)"), little_endian<double>({1, 2, 0.5, 0, 1})))}});
  for (const std::uint64_t memory : {kAllInMemory, kNothingInMemory}) {
    const auto source = open_numpy(spec, {}, memory);
    EXPECT_EQ(source->size(), 5);
    EXPECT_EQ(source->input_shape(0), (Shape{2, 3}));
    EXPECT_EQ(source->f32_rows(0) != nullptr, memory > 0);
    Array out;
    source->read(3, 0, out);
    EXPECT_THAT(out.f32, ElementsAre(47, 50, 53, 56, 59, 62));
    std::vector<std::int32_t> numbers(6);
    ASSERT_TRUE(source->can_read_exact(0, DType::kI32));
    source->read_exact(3, 0, DType::kI32, numbers.data());
    EXPECT_THAT(numbers, ElementsAre(47, 50, 53, 56, 59, 62));
    EXPECT_EQ(source->label_type(), LabelType::kClass);
    EXPECT_EQ(source->label_class(2), 2);
    EXPECT_EQ(source->label_class(0), 4);
    EXPECT_EQ(source->sample_weight(2), 0.5F);
    EXPECT_THAT(source->label_place(2), HasSubstr("y.npy, row 2"));
  }
}

TEST_F(NumpyFiles, BytesStayBytes) {
  NumpySpec spec;
  spec.inputs = files({{"", file("x.npy", numpy_file("u1"))}});
  for (const std::uint64_t memory : {kAllInMemory, kNothingInMemory}) {
    Array out;
    const auto source = open_numpy(spec, {}, memory);
    source->read(1, 0, out);
    EXPECT_EQ(out.type, DType::kU8);
    EXPECT_THAT(out.u8, ElementsAre(18, 21, 24, 27, 30, 33));
    EXPECT_EQ(source->label_type(), LabelType::kNone);
    EXPECT_EQ(source->fingerprint(), open_numpy(spec, {}, kAllInMemory)->fingerprint());
  }
}

TEST_F(NumpyFiles, ReadsStoredAndDeflatedArchives) {
  for (const char* name : {"stored", "deflated"}) {
    NumpySpec spec;
    spec.file = config::Path{file(std::string(name) + ".npz", numpy_file(name))};
    spec.inputs = array("x");
    spec.labels = array("y");
    spec.sample_weight = array("w");
    for (const std::uint64_t memory : {kAllInMemory, kNothingInMemory}) {
      const auto source = open_numpy(spec, {}, memory);
      Array out;
      source->read(4, 0, out);
      EXPECT_THAT(out.f32, ElementsAre(32.5, 34, 35.5, 37, 38.5, 40));
      EXPECT_EQ(source->label_class(4), 3);
      EXPECT_EQ(source->sample_weight(3), 0);
    }
    spec.inputs = array("X");
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, 0); }),
                HasSubstr("no array 'X'; it has x, y, w; did you mean 'x'?"));
  }
}

TEST_F(NumpyFiles, RejectsArchivesDamagedAnywhere) {
  for (const char* name : {"stored", "deflated"}) {
    const Bytes whole = numpy_file(name);
    NumpySpec spec;
    spec.inputs = array("x");
    spec.file = config::Path{folder_.file("a.npz")};
    for (std::size_t length = 0; length < whole.size(); length += 3) {
      write_plain(spec.file->value, Bytes(whole.data(), whole.data() + length));
      EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, kAllInMemory); }), HasSubstr("a.npz"));
    }
    for (std::size_t at = 30; at < 200; at += 7) {  // of x: its name, its header, its values
      Bytes bytes = whole;
      bytes[at] ^= 0x20U;
      write_plain(spec.file->value, bytes);
      try {
        open_numpy(spec, {}, kAllInMemory);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
      }
    }
    Bytes bytes = whole;
    bytes[200] ^= 1U;  // a value of x
    write_plain(spec.file->value, bytes);
    EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, kAllInMemory); }), HasSubstr("x.npy"));
  }
}

TEST_F(NumpyFiles, SeveralInputsThroughTheLoader) {
  NumpySpec spec;
  spec.inputs = files({{"left", file("l.npy", numpy_file("f8"))}, {"right", file("r.npy", numpy_file("bool"))}});
  spec.labels = files({{"", file("y.npy", numpy_file("vector"))}});
  ModelSide side = model_of({2, 3}, {5});
  side.input_names = {"right", "left"};
  side.input_shapes = {{2, 3}, {2, 3}};
  Loader loader(open_numpy(spec, side, kNothingInMemory), Pipeline(), side, {{.output = "digits", .width = 5}},
                {.batch_size = 5, .shuffle = {Shuffle::Kind::kNone, 0}});
  const Batch batch = loader.next();
  EXPECT_EQ(batch.input(0)[3], 1);
  EXPECT_EQ(batch.input(1)[29], 40);
  EXPECT_EQ(static_cast<const std::int32_t*>(batch.labels())[1], 0);
}

TEST_F(NumpyFiles, ReadsIdsBeyondFloats) {
  const std::vector<std::int64_t> ids{1, 16'777'217, 3, 2'147'483'647};
  ModelSide side = model_of({2}, {2});
  side.input_types = {DType::kI32};
  NumpySpec spec;
  spec.inputs = files({{"", file("x.npy", npy_bytes(header_of("<i8", "(2, 2)"), little_endian(ids)))}});
  for (const std::uint64_t memory : {kAllInMemory, kNothingInMemory}) {
    Loader loader(open_numpy(spec, side, memory), Pipeline(), side, {},
                  {.batch_size = 2, .shuffle = {Shuffle::Kind::kNone, 0}});
    const Batch batch = loader.next();
    const auto* const found = batch.view().inputs[0].as<std::int32_t>();
    EXPECT_THAT(std::vector<std::int64_t>(found, found + 4), testing::ElementsAreArray(ids));
  }
  file("x.npy", npy_bytes(header_of("<i8", "(2, 2)"), little_endian<std::int64_t>({1, 2, 3, 2'147'483'648})));
  for (const std::uint64_t memory : {kAllInMemory, kNothingInMemory})
    EXPECT_THAT(error_of(ErrorKind::kData,
                         [&] {
                           std::vector<std::int32_t> row(2);
                           open_numpy(spec, side, memory)->read_exact(1, 0, DType::kI32, row.data());
                         }),
                HasSubstr("x.npy, row 1: contains 2147483648"));
}

TEST_F(NumpyFiles, RejectsFilesThatDoNotFitTogether) {
  const std::string x = file("x.npy", numpy_file("f4"));
  NumpySpec spec;
  spec.inputs = files({{"", x}});
  spec.labels = files({{"", file("y.npy", npy_bytes(header_of("<i4", "(2,)"), little_endian<std::int32_t>({0, 1})))}});
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, 0); }), HasSubstr("x.npy has 5 rows, labels of"));
  spec.labels =
      files({{"", file("n.npy", npy_bytes(header_of("<f4", "(5,)"), little_endian<float>({0, 1, NAN, 2, 3})))}});
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, 0); }), HasSubstr("n.npy, row 2: label is nan"));
  spec.sample_weight = std::exchange(spec.labels, {});
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, 0); }),
              HasSubstr("n.npy, row 2: the sample weight is nan; expected a number >= 0"));
  spec.sample_weight = {};
  spec.file = config::Path{x};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, 0); }), HasSubstr("not a .npz archive"));
  spec.file.reset();
  spec.inputs = files({{"", folder_.file("none.npy")}});
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_numpy(spec, {}, 0); }), HasSubstr("cannot open"));
}

TEST_F(NumpyFiles, RejectsAFileTruncatedWhileReading) {
  NumpySpec spec;
  const std::string x = file("x.npy", numpy_file("f4"));
  spec.inputs = files({{"", x}});
  const auto source = open_numpy(spec, {}, kNothingInMemory);
  std::filesystem::resize_file(x, 140);
  Array out;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { source->read(4, 0, out); }), HasSubstr("was truncated"));
}

}  // namespace
}  // namespace dptrain::data
