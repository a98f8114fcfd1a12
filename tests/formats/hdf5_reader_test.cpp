// Our reader against files of the HDF5 library: every form of strings and numbers in Keras files, and forms that it
// must reject.

#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "core/crc32.h"
#include "core/error.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"
#include "formats/keras_sample.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

/// A file written by the library with `fill` and read by us.
class Library {
 public:
  explicit Library(const std::function<void(hid_t)>& fill) {
    const hid_t file = H5Fcreate((folder_ / "library.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    fill(file);
    H5Fclose(file);
  }
  Hdf5Group root() const { return Hdf5Group::root(checkpoint_file(folder_ / "library.h5")); }
  FileContents contents() const { return FileContents::open(folder_ / "library.h5"); }

 private:
  sample::Folder folder_;
};

struct StringForm {
  std::size_t length;  ///< or H5T_VARIABLE
  H5T_str_t padding;
  H5T_cset_t charset;
};

void put_names(hid_t object, const char* name, const StringForm& form, const Names& values, bool scalar = false) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, form.length);
  H5Tset_strpad(type, form.padding);
  H5Tset_cset(type, form.charset);
  const hsize_t count = values.size();
  const hid_t space = scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (form.length == H5T_VARIABLE) {
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());
    H5Awrite(attribute, type, pointers.data());
  } else {
    std::string data;
    for (std::string value : values) {
      value.resize(form.length, form.padding == H5T_STR_SPACEPAD ? ' ' : '\0');
      data += value;
    }
    H5Awrite(attribute, type, data.data());
  }
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

void put_dataset(hid_t file, const char* name, hid_t stored, const std::vector<double>& values,
                 hid_t plist = H5P_DEFAULT, hid_t links = H5P_DEFAULT) {
  const hsize_t count = values.size();
  const hid_t space = H5Screate_simple(1, &count, nullptr);
  const hid_t dataset = H5Dcreate2(file, name, stored, space, links, plist, H5P_DEFAULT);
  if (!values.empty()) H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(dataset);
  H5Sclose(space);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Crc32, EqualsZlib) {
  const std::string check = "123456789";
  const auto bytes = std::as_bytes(std::span(check));
  EXPECT_EQ(crc32(bytes), 0xCBF43926U);  // the check value of CRC-32/ISO-HDLC
  EXPECT_EQ(crc32({}), 0U);
  std::string longer;
  for (int i = 0; i < 10; ++i) longer += check;
  const auto all = std::as_bytes(std::span(longer));
  for (std::size_t cut = 0; cut < all.size(); ++cut)
    EXPECT_EQ(crc32(all.subspan(cut), crc32(all.first(cut))), crc32(all));
}

TEST(Hdf5Reader, ReadsEveryFormOfStrings) {
  const Names names{"conv1", "batch_normalization_1", "x"};
  const Library file([&](hid_t root) {
    put_names(root, "variable ascii", {H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_ASCII}, names);
    put_names(root, "variable utf8", {H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8}, {"caf\xC3\xA9", "", "b"});
    put_names(root, "null padded", {21, H5T_STR_NULLPAD, H5T_CSET_ASCII}, names);
    put_names(root, "null terminated", {22, H5T_STR_NULLTERM, H5T_CSET_ASCII}, names);
    put_names(root, "space padded", {25, H5T_STR_SPACEPAD, H5T_CSET_ASCII}, names);
    put_names(root, "scalar", {H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8}, {"2.15.0"}, true);
    put_names(root, "scalar fixed", {7, H5T_STR_NULLPAD, H5T_CSET_ASCII}, {"2.2.4"}, true);
  });
  const Hdf5Group root = file.root();
  for (const char* name : {"variable ascii", "null padded", "null terminated", "space padded"})
    EXPECT_EQ(root.list(name), names) << name;
  EXPECT_EQ(root.list("variable utf8"), (Names{"caf\xC3\xA9", "", "b"}));
  EXPECT_EQ(root.text("scalar"), "2.15.0");
  EXPECT_EQ(root.text("scalar fixed"), "2.2.4");
}

TEST(Hdf5Reader, ReadsEmptyAndMissingListsAsEmpty) {
  const Library file([](hid_t root) {
    const hsize_t none = 0;
    const hid_t empty = H5Screate_simple(1, &none, nullptr), null = H5Screate(H5S_NULL);
    H5Aclose(H5Acreate2(root, "zero floats", H5T_IEEE_F64LE, empty, H5P_DEFAULT, H5P_DEFAULT));
    H5Aclose(H5Acreate2(root, "null", H5T_C_S1, null, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(empty);
    H5Sclose(null);
  });
  const Hdf5Group root = file.root();
  for (const char* name : {"zero floats", "null", "missing"}) EXPECT_EQ(root.list(name), Names{}) << name;
  EXPECT_EQ(root.text("null"), std::nullopt);
  EXPECT_EQ(root.number("missing"), std::nullopt);
}

TEST(Hdf5Reader, ReadsLongTextsFromSeparateHeaps) {
  const std::string text(200'000, 'j');
  Names many;
  for (int i = 0; i < 2000; ++i) many.push_back("block_" + std::to_string(i) + "_conv");  // many heaps
  const Library file([&](hid_t root) {
    put_names(root, "model_config", {H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8}, {text}, true);
    put_names(root, "layer_names", {H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8}, many);
  });
  EXPECT_EQ(file.root().text("model_config"), text);
  EXPECT_EQ(file.root().list("layer_names"), many);
}

TEST(Hdf5Reader, JoinsPartsOfAList) {
  const Library file([](hid_t root) {
    put_names(root, "names0", {3, H5T_STR_NULLPAD, H5T_CSET_ASCII}, {"a", "b"});
    put_names(root, "names1", {3, H5T_STR_NULLPAD, H5T_CSET_ASCII}, {"c"});
    put_names(root, "names3", {3, H5T_STR_NULLPAD, H5T_CSET_ASCII}, {"not reached"});
  });
  EXPECT_EQ(file.root().list("names"), (Names{"a", "b", "c"}));
}

TEST(Hdf5Reader, ConvertsEveryPlainNumber) {
  const std::vector<double> values{0, 1, -2, 100, 0.5, -0.25};
  const std::vector<double> whole{0, 1, 2, 100, 127};
  const Library file([&](hid_t root) {
    put_dataset(root, "f64", H5T_IEEE_F64LE, values);
    put_dataset(root, "f32", H5T_IEEE_F32LE, values);
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);  // the library has no predefined binary16
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_precision(half, 16);
    H5Tset_ebias(half, 15);
    H5Tset_size(half, 2);
    put_dataset(root, "f16", half, values);
    H5Tclose(half);
    put_dataset(root, "i8", H5T_STD_I8LE, {0, 1, -2, 100, -128});
    put_dataset(root, "i64", H5T_STD_I64LE, {0, 1, -2, 100, -128});
    put_dataset(root, "u16", H5T_STD_U16LE, whole);
    put_dataset(root, "nothing", H5T_IEEE_F32LE, {});
    put_dataset(root, "big endian", H5T_IEEE_F32BE, values);
  });
  const Hdf5Group root = file.root();
  const std::vector<float> expected(values.begin(), values.end());
  for (const char* name : {"f64", "f32", "f16"}) EXPECT_EQ(root.dataset(name).floats(), expected) << name;
  for (const char* name : {"i8", "i64"})
    EXPECT_EQ(root.dataset(name).floats(), (std::vector<float>{0, 1, -2, 100, -128})) << name;
  EXPECT_EQ(root.dataset("u16").floats(), std::vector<float>(whole.begin(), whole.end()));
  EXPECT_TRUE(root.dataset("nothing").floats().empty());
  EXPECT_THAT(refusal([&] { root.dataset("big endian").floats(); }),
              HasSubstr("does not contain little-endian numbers"));
}

TEST(Hdf5Reader, ReadsBfloat16AsKerasWritesIt) {
  const Library file([](hid_t root) {
    const std::vector<std::uint16_t> bits{0x3F80, 0xC000, 0x0001, 0xFF80};
    const hid_t type = H5Tcreate(H5T_OPAQUE, 2);
    const hsize_t count = bits.size();
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    for (const char* name : {"marked", "bare"}) {
      const hid_t set = H5Dcreate2(root, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bits.data());
      if (name == std::string("marked"))
        put_names(set, "dtype", {H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8}, {"bfloat16"}, true);
      H5Dclose(set);
    }
    H5Sclose(space);
    H5Tclose(type);
  });
  EXPECT_EQ(file.root().dataset("marked").floats(),
            (std::vector<float>{1, -2, 0x1p-133F, -std::numeric_limits<float>::infinity()}));
  EXPECT_THAT(refusal([&] { file.root().dataset("bare").floats(); }),
              HasSubstr("'/bare' contains 2 opaque bytes for each value. Keras writes bfloat16 in this way"));
}

TEST(Hdf5Reader, NamesQuantizedWeights) {
  const Library file([](hid_t root) {
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    put_dataset(root, "layers/dense/vars/0", H5T_STD_I8LE, {1, 2}, H5P_DEFAULT, links);
    put_dataset(root, "layers/dense/vars/1", H5T_IEEE_F32LE, {1}, H5P_DEFAULT, links);
    put_dataset(root, "layers/dense/vars/2", H5T_IEEE_F32LE, {1}, H5P_DEFAULT, links);
    H5Pclose(links);
  });
  graph::Model model = sample::model_of("{layers: [{Input: {shape: [2]}}, {Dense: {name: out, units: 1}}]}");
  EXPECT_THAT(refusal([&] { load_weights(file.contents(), {}, model, Coverage::kSome); }),
              HasSubstr("layer 'out' ('layers/dense' there) has quantized weights in the file (int8 or int4)"));
}

/// A group whose links are messages of its header, up to 8; more are in a fractal heap.
void put_named_groups(hid_t root, const char* parent, const Names& names) {
  const hid_t utf8 = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_char_encoding(utf8, H5T_CSET_UTF8);
  const hid_t group = H5Gcreate2(root, parent, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  for (const std::string& name : names) H5Gclose(H5Gcreate2(group, name.c_str(), utf8, H5P_DEFAULT, H5P_DEFAULT));
  H5Gclose(group);
  H5Pclose(utf8);
}

TEST(Hdf5Reader, ReadsNamesThatAreNotAscii) {
  const Names names{"a", "\xD0\xB2\xD1\x85\xD0\xBE\xD0\xB4", "\xE5\xB1\xA4"};
  const Library file([&](hid_t root) {
    put_named_groups(root, "few", names);
    put_named_groups(root, "many", {"1", "2", "3", "4", "5", "6", "7", "8", "\xE5\xB1\xA4"});
    const hid_t few = H5Gopen2(root, "few", H5P_DEFAULT);
    put_dataset(few, "values", H5T_IEEE_F32LE, {1, 2});
    H5Lcreate_soft("/few/values", few, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", few, "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(root, "few", few, "again", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(few);
  });
  const Hdf5Group few = file.root().group("few");
  for (const std::string& name : names) EXPECT_TRUE(few.group(name).names().empty()) << name;
  EXPECT_EQ(few.names().size(), names.size() + 4);
  EXPECT_EQ(few.dataset("again/again/values").floats(), (std::vector<float>{1, 2}));
  for (const char* link : {"soft", "external"})
    EXPECT_THAT(refusal([&] { few.dataset(link); }), HasSubstr("has a soft or external link at '/few/")) << link;
  EXPECT_THAT(
      refusal([&] { file.root().group("many"); }),
      HasSubstr("'/many' has its names in a fractal heap, which is not supported. HDF5 uses one for more than 8 "
                "names of which one is not ASCII. Rename the layers"));
}

/// Written with h5py 3.16 and HDF5 2.0.
TEST(Hdf5Reader, ReadsAModelOfKeras3WithCyrillicNames) {
  const std::vector<StoredLayer> layers =
      FileContents::open(dptrain::test::test_data("fuzz/corpus/weights/keras3_cyrillic.h5")).layers();
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].name, "вход");
  EXPECT_EQ(layers[1].weight_names[0], "скрытый/kernel");
  EXPECT_EQ(layers[1].weights[0].floats()[0], -0.023384865F);
  EXPECT_EQ(layers[2].name, "выход");
  EXPECT_EQ(layers[2].weights[0].floats()[0], -0.77478063F);
}

TEST(Hdf5Reader, ReadsOurOwnFiles) {
  const sample::Folder folder;
  const graph::Model model = sample::small_dense();
  save_checkpoint(folder / "a.h5", model, {}, {});
  EXPECT_EQ(sample::bytes_of(folder / "a.h5")[8], std::byte{0}) << "version of the superblock";
}

TEST(Hdf5Reader, RejectsUnsupportedFeatures) {
  const Library file([](hid_t root) {
    const hid_t chunked = H5Pcreate(H5P_DATASET_CREATE), compact = H5Pcreate(H5P_DATASET_CREATE),
                external = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = 2;
    H5Pset_chunk(chunked, 1, &chunk);
    H5Pset_layout(compact, H5D_COMPACT);
    H5Pset_external(external, "/etc/passwd", 0, 8);
    put_dataset(root, "chunked", H5T_IEEE_F32LE, {1, 2, 3}, chunked);
    put_dataset(root, "compact", H5T_IEEE_F32LE, {1, 2, 3}, compact);
    const hsize_t two = 2;
    const hid_t space = H5Screate_simple(1, &two, nullptr);
    H5Dclose(H5Dcreate2(root, "external", H5T_IEEE_F32LE, space, H5P_DEFAULT, external, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(root, "never written", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Lcreate_soft("/compact", root, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(root, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_hard(root, "/", root, "again", H5P_DEFAULT, H5P_DEFAULT);
    for (const hid_t plist : {chunked, compact, external}) H5Pclose(plist);
  });
  const Hdf5Group root = file.root();
  EXPECT_EQ(root.dataset("compact").floats(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(root.dataset("again/again/compact").floats(), (std::vector<float>{1, 2, 3}));
  EXPECT_THAT(refusal([&] { root.dataset("chunked").floats(); }),
              HasSubstr("'/chunked' is stored in chunks, which is not supported; rewrite it with 'h5repack"));
  EXPECT_THAT(refusal([&] { root.dataset("external").floats(); }),
              HasSubstr("keeps its data in another file, which is not allowed"));
  EXPECT_THAT(refusal([&] { root.dataset("never written").floats(); }), HasSubstr("'/never written'"));
  EXPECT_THAT(refusal([&] { root.dataset("soft").floats(); }), HasSubstr("link at '/soft', which is not followed"));
  EXPECT_THAT(refusal([&] { root.dataset("group"); }), HasSubstr("'/group' is not a dataset"));
  EXPECT_THAT(refusal([&] { root.group("compact"); }), HasSubstr("'/compact' is not a group"));
  EXPECT_THAT(refusal([&] { root.group("nowhere"); }), HasSubstr("'/nowhere' is missing"));
  std::string deep = "again";
  for (int i = 0; i < 30; ++i) deep += "/again";
  EXPECT_THAT(refusal([&] { root.group(deep); }), HasSubstr("too deep"));
}

TEST(Hdf5Reader, ReadsTreesOfSeveralLevels) {
  const Library file([](hid_t root) {
    for (int i = 0; i < 3000; ++i)
      H5Gclose(H5Gcreate2(root, ("g" + std::to_string(i)).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  });
  const Hdf5Group root = file.root();
  EXPECT_EQ(root.names().size(), 3000U);
  EXPECT_TRUE(root.contains("g0") && root.contains("g2999") && !root.contains("g3000"));
  EXPECT_TRUE(root.group("g1234").names().empty());
}

TEST(Hdf5Reader, ReportsTheNewestFormatAsUnsupported) {
  const sample::Folder folder;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Fclose(H5Fcreate((folder / "new.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
  H5Pclose(access);
  EXPECT_THAT(refusal([&] { FileContents::open(folder / "new.h5"); }), HasSubstr("newer superblock"));
}

/// Names, shapes and sums of the weights as reported by h5py.
TEST(Hdf5Reader, ReadsAModelThatKeras3Wrote) {
  const FileContents file = FileContents::open(dptrain::test::test_data("golden/keras3_A.h5"));
  EXPECT_EQ(file.root.text("keras_version"), "3.16.0");
  EXPECT_FALSE(file.has_state());
  const std::vector<StoredLayer> layers = file.layers();
  Names names;
  for (const StoredLayer& layer : layers) names.push_back(layer.name);
  EXPECT_EQ(names, (Names{"img", "c1", "bn1", "r1", "sep", "dw", "add", "gap", "out"}));
  const StoredLayer& bn = layers[2];
  EXPECT_EQ(bn.weight_names, (Names{"bn1/gamma", "bn1/beta", "bn1/moving_mean", "bn1/moving_variance"}));
  EXPECT_EQ(bn.short_name(3), "moving_variance");
  EXPECT_EQ(layers[1].weights[0].shape(), (Shape{3, 3, 3, 4}));
  const std::vector<float> kernel = layers[1].weights[0].floats();
  double sum = 0;
  for (const float value : kernel) sum += static_cast<double>(value);
  EXPECT_EQ(kernel[0], -0.11254415661096573F);
  EXPECT_NEAR(sum, -2.3517449278442655, 1e-12);
  EXPECT_TRUE(layers[0].weights.empty());
}

TEST(Hdf5Reader, ReadsASequentialModelWhosePathsBeginWithItsName) {
  const std::vector<StoredLayer> layers = FileContents::open(dptrain::test::test_data("golden/keras3_C.h5")).layers();
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[2].weight_names[0], "seq/dense_2/kernel");
  EXPECT_EQ(layers[2].short_name(0), "kernel");
  EXPECT_EQ(layers[2].weights[0].floats()[0], -0.039572592824697495F);
  EXPECT_THAT(describe_file(dptrain::test::test_data("golden/keras3_C.h5")), HasSubstr("model seq (Sequential)"));
}

}  // namespace
}  // namespace dptrain::formats
