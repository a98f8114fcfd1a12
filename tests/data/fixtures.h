#pragma once

// Fixtures of the data tests: generated IDX files, a source in vectors, the text of errors.

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/source.h"

namespace dptrain::data {

/// A folder that the destructor removes.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dptrain-data-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

using Bytes = std::vector<std::uint8_t>;

/// Big-endian bytes of the values.
template <class T>
Bytes big_endian(const std::vector<T>& values) {
  Bytes bytes;
  for (const T value : values) {
    std::uint8_t raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    for (std::size_t i = sizeof(T); i-- > 0;) bytes.push_back(raw[i]);
  }
  return bytes;
}

inline Bytes idx_bytes(std::uint8_t type, const std::vector<std::uint32_t>& extents, const Bytes& elements) {
  Bytes bytes{0, 0, type, static_cast<std::uint8_t>(extents.size())};
  const Bytes header = big_endian(extents);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

inline std::string write_plain(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

inline std::string write_gzip(const std::string& path, const Bytes& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

inline Bytes read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

/// The message of the Error that f throws, which must be of that kind.
template <class F>
std::string error_of(ErrorKind kind, F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// Samples of one float vector each: element e of sample i is 100 i + e. Labels are set by the test.
class VectorSource : public Source {
 public:
  VectorSource(std::int64_t size, Shape shape) : size_(size), shape_(std::move(shape)) {
    rows_.resize(static_cast<std::size_t>(size * shape_.elements()));
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t e = 0; e < shape_.elements(); ++e)
        rows_[static_cast<std::size_t>(i * shape_.elements() + e)] = static_cast<float>(100 * i + e);
  }

  std::vector<std::int64_t> classes;       // kClass when not empty
  std::vector<std::vector<float>> values;  // kValues when not empty
  bool contiguous = true;                  // f32_rows() returns the rows
  std::string name;
  std::int64_t broken = -1;  // index of the unreadable sample

  std::int64_t size() const override { return size_; }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return name; }
  Shape input_shape(int) const override { return shape_; }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    if (index == broken) throw Error(ErrorKind::kData, "sample " + std::to_string(index) + " is broken");
    out.shape = shape_;
    out.type = DType::kF32;
    const auto first = rows_.begin() + index * shape_.elements();
    out.f32.assign(first, first + shape_.elements());
  }
  const float* f32_rows(int) const override { return contiguous ? rows_.data() : nullptr; }
  LabelType label_type(int) const override {
    return !classes.empty() ? LabelType::kClass : !values.empty() ? LabelType::kValues : LabelType::kNone;
  }
  std::int64_t label_width(int) const override {
    return values.empty() ? 1 : static_cast<std::int64_t>(values[0].size());
  }
  std::int64_t label_class(std::int64_t index, int) const override { return classes[static_cast<std::size_t>(index)]; }
  void label_values(std::int64_t index, float* out, int) const override {
    const auto& row = values[static_cast<std::size_t>(index)];
    std::copy(row.begin(), row.end(), out);
  }
  std::string label_place(std::int64_t index, int) const override { return "labels, item " + std::to_string(index); }
  std::string fingerprint() const override { return "vector"; }

 private:
  std::int64_t size_;
  Shape shape_;
  std::vector<float> rows_;
};

inline ModelSide model_of(const Shape& input, const Shape& output) {
  return {.input_names = {"input"},
          .input_shapes = {input},
          .output_names = {"digits"},
          .outputs = {output},
          .pixels = false};
}

}  // namespace dptrain::data
