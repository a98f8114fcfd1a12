#include <gmock/gmock.h>
#include <hdf5.h>
#include <array>
#include <cmath>

#include <filesystem>
#include <numeric>
#include <thread>

#include "core/files.h"
#include "data/fixtures.h"
#include "data/sources/hdf5_dataset.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A file written through the library. Closes its objects.
class File {
 public:
  explicit File(const std::string& path) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    id_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
  }
  ~File() { H5Fclose(id_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// `chunk` empty: contiguous; else chunked and compressed.
  void array(const std::string& name, hid_t stored, hid_t memory, const std::vector<hsize_t>& shape, const void* data,
             const std::vector<hsize_t>& chunk = {}) const {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (!chunk.empty()) {
      H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
      H5Pset_shuffle(creation);
      H5Pset_deflate(creation, 4);
    }
    const hid_t set = H5Dcreate2(id_, name.c_str(), stored, space, links, creation, H5P_DEFAULT);
    H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  }
  void external(const std::string& name, hid_t space, hid_t creation) const {
    H5Dcreate2(id_, name.c_str(), H5T_NATIVE_FLOAT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  }

 private:
  hid_t id_;
};

std::shared_ptr<const Source> open_set(const HDF5DatasetSpec& spec) {
  DatasetConfig datasets;
  datasets.train = dataset_family().make(spec);
  return open_sources(datasets, model_of({4, 5, 3}, {10}), 3).train;
}

HDF5DatasetSpec spec_of(const std::string& path, const std::string& inputs, const std::string& labels) {
  HDF5DatasetSpec spec;
  spec.file.value = path;
  spec.inputs.arrays = {{"", inputs}};
  spec.labels.arrays = {{"", labels}};
  return spec;
}

constexpr hsize_t kRows = 23, kElements = 60;

class Hdf5Dataset : public testing::Test {
 protected:
  void SetUp() override {
    const std::lock_guard lock(hdf5_mutex());
    std::vector<std::uint8_t> bytes(kRows * kElements);
    std::vector<double> numbers(kRows * kElements), scores(kRows * 2);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(i * 7), numbers[i] = -1.5 * static_cast<double>(i);
    std::iota(scores.begin(), scores.end(), 0.0);
    std::vector<std::int64_t> classes(kRows);
    for (std::size_t i = 0; i < kRows; ++i) classes[i] = static_cast<std::int64_t>(i % 10);
    const File file(path_);
    file.array("x", H5T_STD_U8LE, H5T_NATIVE_UINT8, {kRows, 4, 5, 3}, bytes.data());
    file.array("train/packed", H5T_STD_U8LE, H5T_NATIVE_UINT8, {kRows, 4, 5, 3}, bytes.data(), {5, 2, 5, 3});
    file.array("doubles", H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, {kRows, 4, 5, 3}, numbers.data(), {4, 4, 5, 3});
    file.array("y", H5T_STD_I64LE, H5T_NATIVE_INT64, {kRows}, classes.data());
    file.array("column", H5T_STD_U16BE, H5T_NATIVE_INT64, {kRows, 1}, classes.data());
    file.array("scores", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, {kRows, 2}, scores.data());
    std::vector<double> weights(kRows, 1.0);
    weights[4] = NAN;
    file.array("weights", H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, {kRows}, weights.data());
    file.array("short", H5T_STD_I64LE, H5T_NATIVE_INT64, {kRows - 1}, classes.data());
  }
  const TempFolder folder_;
  const std::string path_ = folder_.file("a b.h5");
};

TEST_F(Hdf5Dataset, ReadsBytesOfEveryLayout) {
  for (const char* inputs : {"x", "train/packed"})
    for (const char* labels : {"y", "column"}) {
      const auto source = open_set(spec_of(path_, inputs, labels));
      ASSERT_EQ(source->size(), 23);
      EXPECT_EQ(source->input_shape(0), (Shape{4, 5, 3}));
      Array out;
      for (const std::int64_t row : {22, 0, 11}) {
        source->read(row, 0, out);
        ASSERT_EQ(out.type, DType::kU8);
        for (std::size_t e = 0; e < kElements; ++e)
          ASSERT_EQ(out.u8[e], static_cast<std::uint8_t>((static_cast<std::size_t>(row) * kElements + e) * 7));
        EXPECT_EQ(source->label_class(row), row % 10);
      }
      EXPECT_THAT(source->label_place(3), HasSubstr("row 3"));
    }
}

TEST_F(Hdf5Dataset, FloatsAndRowsOfLabels) {
  const auto source = open_set(spec_of(path_, "doubles", "scores"));
  Array out;
  source->read(2, 0, out);
  EXPECT_EQ(out.type, DType::kF32);
  EXPECT_EQ(out.f32[7], -1.5F * (2 * 60 + 7));
  EXPECT_EQ(source->label_type(), LabelType::kValues);
  std::vector<float> row(2);
  source->label_values(5, row.data());
  EXPECT_THAT(row, ElementsAre(10, 11));
}

TEST_F(Hdf5Dataset, RejectsATruncatedFile) {
  const auto source = open_set(spec_of(path_, "x", "y"));
  Array out;
  source->read(0, 0, out);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { source->read(22, 0, out); }),
              HasSubstr("it must not change while it is read"));
}

TEST_F(Hdf5Dataset, NamedInputs) {
  HDF5DatasetSpec spec = spec_of(path_, "", "y");
  spec.inputs.arrays = {{"left", "x"}, {"right", "doubles"}};
  const auto source = open_set(spec);
  EXPECT_EQ(source->inputs(), 2);
  EXPECT_EQ(source->input_name(1), "right");
}

TEST_F(Hdf5Dataset, ManyThreads) {
  const auto source = open_set(spec_of(path_, "train/packed", "y"));
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Array out;
      for (std::int64_t i = 0; i < 50; ++i) {
        const std::int64_t row = (i * 7 + t) % 23;
        source->read(row, 0, out);
        EXPECT_EQ(out.u8[1], static_cast<std::uint8_t>((row * 60 + 1) * 7));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Hdf5Dataset, RejectsValuesInOtherFiles) {
  const std::string path = folder_.file("outside.h5");
  {
    const std::lock_guard lock(hdf5_mutex());
    const File file(path);
    const std::array<hsize_t, 2> shape{4, 3};
    const hid_t space = H5Screate_simple(2, shape.data(), nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, "/etc/passwd", 0, 4 * 3 * sizeof(float));
    file.external("x", space, creation);
    const std::array<std::int64_t, 4> classes{};
    file.array("y", H5T_NATIVE_INT64, H5T_NATIVE_INT64, {4}, classes.data());
  }
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_set(spec_of(path, "x", "y")); }),
              HasSubstr("outside.h5, array 'x': its values are in other files"));
}

TEST_F(Hdf5Dataset, RejectsInvalidArrays) {
  const auto error = [&](const HDF5DatasetSpec& spec) { return error_of(ErrorKind::kData, [&] { open_set(spec); }); };
  EXPECT_THAT(error(spec_of(path_, "z", "y")), HasSubstr("a b.h5, array 'z': cannot open: "));
  EXPECT_THAT(error(spec_of(path_, "x", "short")), HasSubstr("array 'x' has 23 rows, labels 'short' have 22"));
  EXPECT_THAT(error(spec_of(path_, "x", "weights")), HasSubstr("array 'weights', row 4: label is nan"));
  HDF5DatasetSpec weighted = spec_of(path_, "x", "y");
  weighted.sample_weight = "weights";
  EXPECT_THAT(error(weighted), HasSubstr("array 'weights', row 4: the sample weight is nan; expected a number >= 0"));
  EXPECT_THAT(error(spec_of(folder_.file("none.h5"), "x", "y")), HasSubstr("no such file or folder: "));
  const std::string text = write_plain(folder_.file("text.h5"), {'n', 'o'});
  EXPECT_THAT(error(spec_of(text, "x", "y")), HasSubstr("text.h5: cannot open as HDF5: "));
  const std::string fingerprint = open_set(spec_of(path_, "x", "y"))->fingerprint();
  EXPECT_EQ(open_set(spec_of(path_, "x", "y"))->fingerprint(), fingerprint);
  EXPECT_NE(open_set(spec_of(path_, "x", "column"))->fingerprint(), "");
}

}  // namespace
}  // namespace dptrain::data
