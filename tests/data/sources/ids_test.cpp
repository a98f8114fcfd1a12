// Inputs of int32 ids from every data set that supports them, through the loader to the batch. No float represents
// these.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "core/files.h"
#include "data/fixtures.h"
#include "data/loader.h"
#include "data/sources/hdf5_dataset.h"
#include "data/sources/idx_source.h"
#include "data/sources/synthetic.h"

namespace dptrain::data {
namespace {

using testing::HasSubstr;

constexpr std::int32_t kBeyondFloats = 16'777'217;  // 2^24 + 1

ModelSide ids_of(std::int64_t steps, std::int64_t limit) {
  ModelSide side = model_of({steps}, {2});
  side.input_types = {DType::kI32};
  side.id_limits = {limit};
  return side;
}

std::vector<std::int32_t> all_ids(const std::shared_ptr<const Source>& source, const ModelSide& side) {
  Loader loader(source, Pipeline(), side, {}, {.batch_size = 2, .shuffle = {Shuffle::Kind::kNone, 0}});
  std::vector<std::int32_t> ids;
  for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) {
    const BatchView view = batch.view();
    EXPECT_EQ(view.inputs[0].row_bytes, static_cast<std::size_t>(side.input_shapes[0].elements()) * 4);
    const auto* const rows = view.inputs[0].as<std::int32_t>();
    ids.insert(ids.end(), rows, rows + view.rows * side.input_shapes[0].elements());
  }
  return ids;
}

IdxFiles idx_ids(std::uint8_t type, const Bytes& elements, std::uint32_t rows, std::uint32_t steps) {
  const Bytes bytes = idx_bytes(type, {rows, steps}, elements);
  MemoryReader reader(bytes.data(), bytes.size(), "words");
  IdxFiles files;
  files.inputs.emplace_back("", parse_idx(reader));
  return files;
}

TEST(Ids, OfAnIdxFileOfInt32) {
  const std::vector<std::int32_t> ids{1, 0, kBeyondFloats, 3, 2, 1};
  const ModelSide side = ids_of(2, 0);
  EXPECT_EQ(all_ids(make_idx_source(idx_ids(0x0C, big_endian(ids), 3, 2), {}, side), side), ids);
}

TEST(Ids, OfAnIdxFileOfBytes) {
  const ModelSide side = ids_of(3, 256);
  EXPECT_EQ(all_ids(make_idx_source(idx_ids(0x08, {0, 7, 255, 1, 2, 3}, 2, 3), {}, side), side),
            (std::vector<std::int32_t>{0, 7, 255, 1, 2, 3}));
}

TEST(Ids, OfAnHdf5Array) {
  const TempFolder folder;
  const std::string path = folder.file("words.h5");
  const std::vector<std::int64_t> stored{5, kBeyondFloats, 0, 1, 2, 3};
  {
    const std::lock_guard lock(hdf5_mutex());
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t shape[2]{2, 3}, rows[1]{2};
    const std::int32_t classes[2]{0, 1};
    const hid_t space = H5Screate_simple(2, shape, nullptr), column = H5Screate_simple(1, rows, nullptr);
    const hid_t words = H5Dcreate2(file, "words", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(words, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.data());
    const hid_t labels = H5Dcreate2(file, "labels", H5T_STD_I32LE, column, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(labels, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, classes);
    for (const hid_t set : {words, labels}) H5Dclose(set);
    for (const hid_t one : {space, column}) H5Sclose(one);
    H5Fclose(file);
  }
  HDF5DatasetSpec spec;
  spec.file.value = path;
  spec.inputs.arrays = {{"", "words"}};
  spec.labels.arrays = {{"", "labels"}};
  const ModelSide side = ids_of(3, 0);
  DatasetConfig datasets;
  datasets.train = dataset_family().make(spec);
  EXPECT_EQ(all_ids(open_sources(datasets, side, 3).train, side),
            std::vector<std::int32_t>(stored.begin(), stored.end()));
}

SyntheticSpec sixty_four() {
  SyntheticSpec spec;
  spec.samples = 64;
  return spec;
}

TEST(Ids, OfSyntheticAreBelowTheLimitAndPaddedAtTheEnd) {
  const ModelSide side = ids_of(8, 50);
  const std::vector<std::int32_t> ids = all_ids(make_synthetic(sixty_four(), side, Role::kTrain), side);
  ASSERT_EQ(ids.size(), 64U * 8);
  bool padded = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_GE(ids[i], 0);
    EXPECT_LT(ids[i], 50);
    EXPECT_TRUE(i % 8 >= 4 || ids[i] > 0) << i;
    padded = padded || ids[i] == 0;
    EXPECT_TRUE(i % 8 == 0 || ids[i - 1] != 0 || ids[i] == 0) << i;
  }
  EXPECT_TRUE(padded);
  EXPECT_EQ(all_ids(make_synthetic(sixty_four(), side, Role::kTrain), side), ids);
}

TEST(Ids, NamesInvalidIds) {
  const ModelSide side = ids_of(2, 4);
  const auto message = [&](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto beyond = make_idx_source(idx_ids(0x0C, big_endian(std::vector<std::int32_t>{1, 2, 3, 4}), 2, 2), {}, side);
  EXPECT_THAT(
      message([&] { all_ids(beyond, side); }),
      HasSubstr(
          ", item 1 contains the id 4 at place 1; the model's Embedding has the ids 0 to 3; raise its input_dim"));
  const auto floats = make_idx_source(idx_ids(0x0D, Bytes(16, 0), 2, 2), {}, side);
  EXPECT_THAT(message([&] { all_ids(floats, side); }),
              HasSubstr("the model's input 'input' is int32, but the data set does not contain integers for it"));
  EXPECT_THAT(message([&] { all_ids(make_idx_source(idx_ids(0x08, Bytes(6, 1), 2, 3), {}, side), side); }),
              HasSubstr("samples of 'input' are 3, the model expects 2"));
}

}  // namespace
}  // namespace dptrain::data
