// The file as read by the HDF5 library, not by our own reader: the tree, and the types of strings and datasets that
// Keras's loaders require (docs/reference/keras-files.md).

#include <gtest/gtest.h>
#include <hdf5.h>

#include "formats/checkpoint_sample.h"
#include "formats/exporter.h"
#include "formats/keras/keras_config.h"

namespace dptrain::formats {
namespace {

class File {
 public:
  explicit File(const std::string& path) : id_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    EXPECT_GE(id_, 0) << path;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { H5Fclose(id_); }

  hid_t id() const { return id_; }
  bool has(const std::string& path) const { return H5Lexists(id_, path.c_str(), H5P_DEFAULT) > 0; }
  std::vector<std::string> children(const std::string& path) const {
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const H5L_info_t* info, void* out) -> herr_t {
      EXPECT_EQ(info->type, H5L_TYPE_HARD) << name;
      static_cast<std::vector<std::string>*>(out)->push_back(name);
      return 0;
    };
    H5Literate_by_name(id_, path.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &names, H5P_DEFAULT);
    return names;
  }

 private:
  hid_t id_;
};

class Attribute {
 public:
  Attribute(const File& file, const std::string& object, const std::string& name)
      : id_(H5Aopen_by_name(file.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT)),
        type_(H5Aget_type(id_)),
        space_(H5Aget_space(id_)) {
    EXPECT_GE(id_, 0) << object << " @" << name;
  }
  Attribute(const Attribute&) = delete;
  Attribute& operator=(const Attribute&) = delete;
  ~Attribute() {
    H5Sclose(space_);
    H5Tclose(type_);
    H5Aclose(id_);
  }

  bool variable() const { return H5Tis_variable_str(type_) > 0; }
  H5T_class_t kind() const { return H5Tget_class(type_); }
  H5T_cset_t charset() const { return H5Tget_cset(type_); }
  H5T_str_t padding() const { return H5Tget_strpad(type_); }
  std::size_t width() const { return H5Tget_size(type_); }
  H5S_class_t space() const { return H5Sget_simple_extent_type(space_); }
  hssize_t count() const { return H5Sget_simple_extent_npoints(space_); }
  std::string text() const {
    char* data = nullptr;
    EXPECT_GE(H5Aread(id_, type_, &data), 0);
    std::string value = data;
    H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, &data);
    return value;
  }
  std::vector<std::string> fixed() const {
    std::string data(width() * static_cast<std::size_t>(count()), '\0');
    EXPECT_GE(H5Aread(id_, type_, data.data()), 0);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < data.size(); i += width()) all.emplace_back(data.substr(i, width()).c_str());
    return all;
  }

 private:
  hid_t id_, type_, space_;
};

void expect_scalar_text(const File& file, const std::string& object, const std::string& name,
                        const std::string& value) {
  const Attribute attribute(file, object, name);
  EXPECT_TRUE(attribute.variable()) << name;  // a fixed-length text is limited to 64 KiB
  EXPECT_EQ(attribute.charset(), H5T_CSET_UTF8) << name;
  EXPECT_EQ(attribute.space(), H5S_SCALAR) << name;
  EXPECT_EQ(attribute.text(), value) << name;
}

void expect_names(const File& file, const std::string& object, const std::string& name,
                  const std::vector<std::string>& values) {
  const Attribute attribute(file, object, name);
  EXPECT_EQ(attribute.space(), H5S_SIMPLE) << object << " @" << name;  // H5S_NULL breaks Keras
  if (values.empty()) {
    EXPECT_EQ(attribute.kind(), H5T_FLOAT);
    EXPECT_EQ(attribute.count(), 0);
    return;
  }
  EXPECT_FALSE(attribute.variable());
  EXPECT_EQ(attribute.charset(), H5T_CSET_ASCII);
  EXPECT_EQ(attribute.padding(), H5T_STR_NULLPAD);
  EXPECT_EQ(attribute.fixed(), values);
}

void expect_floats(const File& file, const std::string& path, const std::vector<hsize_t>& dims,
                   const std::vector<float>& values) {
  const hid_t dataset = H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT);
  ASSERT_GE(dataset, 0) << path;
  const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), plist = H5Dget_create_plist(dataset);
  EXPECT_GT(H5Tequal(type, H5T_IEEE_F32LE), 0) << path;
  EXPECT_EQ(H5Pget_layout(plist), H5D_CONTIGUOUS) << path;
  EXPECT_EQ(H5Pget_external_count(plist), 0) << path;
  std::vector<hsize_t> found(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, found.data(), nullptr);
  EXPECT_EQ(found, dims) << path;
  std::vector<float> read(values.size());
  EXPECT_GE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read.data()), 0);
  EXPECT_EQ(read, values) << path;
  H5Pclose(plist);
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(dataset);
}

TEST(KerasTree, EqualsTheTreeThatKerasReads) {
  const sample::Folder folder;
  const graph::Model model = sample::tiny_cnn();
  save_checkpoint(folder / "last.h5", model, sample::compiled(), sample::state_of(model));
  const File file(folder / "last.h5");

  EXPECT_EQ(file.children("/"), (std::vector<std::string>{"dptrain_state", "model_weights"}));  // no optimizer_weights
  expect_scalar_text(file, "/", "keras_version", "2.15.0");
  expect_scalar_text(file, "/", "backend", "tensorflow");
  expect_scalar_text(file, "/", "model_config", keras::model_config(model.graph));
  expect_scalar_text(file, "/", "training_config", keras::training_config(sample::compiled()));
  expect_scalar_text(file, "/model_weights", "keras_version", "2.15.0");
  expect_scalar_text(file, "/model_weights", "backend", "tensorflow");
  const std::vector<std::string> names{"input_1", "conv1", "pool1", "flatten", "predictions"};
  expect_names(file, "/model_weights", "layer_names", names);
  expect_names(file, "/model_weights/input_1", "weight_names", {});
  expect_names(file, "/model_weights/pool1", "weight_names", {});
  expect_names(file, "/model_weights/flatten", "weight_names", {});
  expect_names(file, "/model_weights/conv1", "weight_names", {"conv1/kernel:0", "conv1/bias:0"});
  expect_names(file, "/model_weights/predictions", "weight_names", {"predictions/kernel:0", "predictions/bias:0"});
  EXPECT_EQ(file.children("/model_weights").size(), names.size());
  expect_floats(file, "/model_weights/conv1/conv1/kernel:0", {3, 3, 3, 4}, model.weights[0].values);
  expect_floats(file, "/model_weights/predictions/predictions/bias:0", {5}, model.weights[3].values);
  expect_floats(file, "/dptrain_state/arrays/velocity/conv1/bias", {4}, sample::state_of(model).arrays[5].values);
  expect_floats(file, "/dptrain_state/arrays/scalar", {}, {3.25F});
}

TEST(KerasTree, StatisticsFollowTheTrainableWeights) {
  const sample::Folder folder;
  save_checkpoint(folder / "last.h5", sample::branched(), {}, {});
  const File file(folder / "last.h5");
  expect_names(file, "/model_weights/left1_bn", "weight_names",
               {"left1_bn/gamma:0", "left1_bn/beta:0", "left1_bn/moving_mean:0", "left1_bn/moving_variance:0"});
  EXPECT_LE(H5Aexists(file.id(), "training_config"), 0);
}

TEST(KerasTree, AnExportedModelHasNoPrivateGroup) {
  const sample::Folder folder;
  exporter_of("model.h5")
      .write(folder / "model.h5",
             {.model = sample::tiny_cnn(), .compiled = sample::compiled(), .class_names = {"a", "bc"}});
  const File file(folder / "model.h5");
  EXPECT_EQ(file.children("/"), std::vector<std::string>{"model_weights"});
  expect_names(file, "/", "class_names", {"a", "bc"});
}

TEST(KerasTree, SplitsManyLayersLikeNumpy) {
  // 1501 names of at most 60 bytes: 90,060 bytes, so two parts of 751 and 750 names.
  const sample::Folder folder;
  sample::ModelBuilder b("deep");
  int node = b.add("in", nn::InputSpec{{3}});
  std::vector<std::string> names{"in"};
  for (int i = 0; i < 1500; ++i) {
    std::string name = "layer_" + std::to_string(i) + "_";
    name.resize(60, 'x');
    node = b.add(name, nn::FlattenSpec{}, {node});
    names.push_back(name);
  }
  graph::Model model = b.take({node});
  save_checkpoint(folder / "deep.h5", model, {}, {});

  const File file(folder / "deep.h5");
  EXPECT_LE(H5Aexists_by_name(file.id(), "/model_weights", "layer_names", H5P_DEFAULT), 0);
  EXPECT_LE(H5Aexists_by_name(file.id(), "/model_weights", "layer_names2", H5P_DEFAULT), 0);
  const Attribute first(file, "/model_weights", "layer_names0"), second(file, "/model_weights", "layer_names1");
  EXPECT_EQ(first.count(), 751);
  EXPECT_EQ(second.count(), 750);
  EXPECT_EQ(first.width(), 60U);
  std::vector<std::string> found = first.fixed();
  for (std::string& name : second.fixed()) found.push_back(std::move(name));
  EXPECT_EQ(found, names);
  load_weights(folder / "deep.h5", model);  // our reader joins them
}

}  // namespace
}  // namespace dptrain::formats
