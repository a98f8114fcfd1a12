#include <gmock/gmock.h>

#include "config/config_loader.h"
#include "data/fixtures.h"
#include "data/sources/cifar10.h"
#include "data/sources/fixed_records.h"
#include "data/sources/hdf5_dataset.h"
#include "data/sources/idx_source.h"
#include "data/sources/image_folder.h"
#include "data/sources/numpy.h"
#include "data/sources/split.h"
#include "data/sources/synthetic.h"
#include "data/sources/windows.h"
#include "data/transform.h"
#include "data/transforms/colour.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Reads one member of a family from YAML.
config::Typed read(config::Family& family, const std::string& yaml, std::string* errors = nullptr) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(yaml, "c.yaml", "/home/user/configs", diagnostics);
  config::Reader reader(diagnostics);
  config::Typed typed = family.read(node, reader);
  if (errors != nullptr) {
    *errors = diagnostics.render();
  } else {
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.render();
  }
  return typed;
}
std::string refusal(config::Family& family, const std::string& yaml) {
  std::string errors;
  read(family, yaml, &errors);
  return errors;
}

TEST(DatasetFamily, ReadsIdx) {
  const config::Typed typed =
      read(dataset_family(), "IDX: {inputs: ../d/x.gz, labels: y, take: 7, class_names: [a, NO]}");
  const auto& spec = typed.as<IDXSpec>();
  ASSERT_EQ(spec.inputs.paths.size(), 1U);
  EXPECT_EQ(spec.inputs.paths[0].first, "");
  EXPECT_EQ(spec.inputs.paths[0].second.value, "/home/user/d/x.gz");
  EXPECT_EQ(spec.labels.paths.front().second.value, "/home/user/configs/y");
  EXPECT_EQ(spec.take, 7);
  EXPECT_THAT(spec.class_names.first(), ElementsAre("a", "NO"));
}

TEST(DatasetFamily, ReadsClassNamesOfEachLabel) {
  const config::Typed typed = read(dataset_family(),
                                   "IDX: {inputs: x, labels: {kind: k, size: s}, class_names: {size: [s, l], kind: "
                                   "[cat, NO]}}");
  EXPECT_EQ(typed.as<IDXSpec>().class_names.text(), "size: s, l; kind: cat, NO");
  EXPECT_EQ(read(dataset_family(), config::to_yaml(typed.write())).as<IDXSpec>().class_names,
            typed.as<IDXSpec>().class_names);
}

TEST(DatasetFamily, WindowsRequireArrays) {
  EXPECT_THAT(refusal(dataset_family(), "Windows: {of: {CSV: x.csv}, sequence_length: 3}"),
              HasSubstr("of must be arrays, one row a step, found a CSV"));
}

TEST(DatasetFamily, ReadsNumpy) {
  const config::Typed typed =
      read(dataset_family(), "Numpy: {file: ../d/a.npz, inputs: {left: x, right: r.npy}, labels: y, sample_weight: w}");
  const auto& spec = typed.as<NumpySpec>();
  EXPECT_EQ(spec.file->value, "/home/user/d/a.npz");
  ASSERT_EQ(spec.inputs.entries.size(), 2U);
  EXPECT_EQ(spec.inputs.entries[0].array, "x");
  EXPECT_EQ(spec.inputs.entries[1].name, "right");
  EXPECT_EQ(spec.inputs.entries[1].path.value, "/home/user/configs/r.npy");
  EXPECT_EQ(spec.labels.entries.front().array, "y");
  const config::Typed again = read(dataset_family(), config::to_yaml(typed.write()));
  EXPECT_EQ(config::to_yaml(again.write()), config::to_yaml(typed.write()));
  EXPECT_THAT(refusal(dataset_family(), "Numpy: {inputs: x}"), HasSubstr("'x' is not a .npy file"));
  EXPECT_THAT(refusal(dataset_family(), "Numpy: {inputs: null}"), HasSubstr("inputs has no value"));
  EXPECT_TRUE(read(dataset_family(), "Numpy: {inputs: x.npy, labels: null}").as<NumpySpec>().labels.entries.empty());
  EXPECT_THAT(refusal(dataset_family(), "Numpy: {inputs: {}}"), HasSubstr("a mapping from names to arrays"));
}

TEST(DatasetFamily, ReadsWindows) {
  const config::Typed typed = read(
      dataset_family(), "Windows: {of: {Numpy: {inputs: x.npy}}, sequence_length: 24, horizon: 6, label_columns: [0]}");
  const auto& spec = typed.as<WindowsSpec>();
  EXPECT_EQ(spec.of.as<NumpySpec>().inputs.entries.front().path.value, "/home/user/configs/x.npy");
  EXPECT_EQ(spec.sequence_length, 24);
  EXPECT_EQ(spec.horizon, 6);
  const auto words = [](const std::string& arguments) {
    return refusal(dataset_family(), "Windows: {of: {Numpy: {inputs: x.npy}}, sequence_length: 3, " + arguments + "}");
  };
  EXPECT_THAT(words("horizon: -3"), HasSubstr("horizon must be >= -2"));
  EXPECT_THAT(words("mean: [3]"), HasSubstr("mean and variance must be given together"));
  EXPECT_THAT(words("start_index: 5, end_index: 5"), HasSubstr("end_index must be above start_index, 5, found 5"));
  EXPECT_THAT(refusal(dataset_family(), "Windows: {of: {Split: 0.5}, sequence_length: 3}"),
              HasSubstr("split the windows instead"));
  EXPECT_THAT(refusal(dataset_family(), "Windows: {sequence_length: 3}"), HasSubstr("of"));
}

TEST(DatasetFamily, ReadsSplitInOrder) {
  EXPECT_FALSE(read(dataset_family(), "Split: {fraction: 0.2, shuffle: false}").as<SplitSpec>().shuffle);
  EXPECT_THAT(refusal(dataset_family(), "Split: {fraction: 0.2, shuffle: false, stratified: true}"),
              HasSubstr("stratified draws samples"));
}

TEST(DatasetFamily, ReadsNamedInputs) {
  const config::Typed typed = read(dataset_family(), "IDX: {inputs: {tweet_a: a.gz, tweet_b: b.gz}, labels: y}");
  const auto& paths = typed.as<IDXSpec>().inputs.paths;
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[1].first, "tweet_b");
  EXPECT_EQ(paths[1].second.value, "/home/user/configs/b.gz");
  EXPECT_THAT(config::to_yaml(typed.write()), HasSubstr("tweet_a: /home/user/configs/a.gz"));
}

TEST(DatasetFamily, ReadsSyntheticAndSplit) {
  EXPECT_EQ(read(dataset_family(), "Synthetic").as<SyntheticSpec>().samples, 10000);
  EXPECT_EQ(read(dataset_family(), "Synthetic: {samples: 12, classes: 3, seed: 4}").as<SyntheticSpec>().seed, 4U);
  const config::Typed typed = read(dataset_family(), "Split: {of: train, fraction: 2%, stratified: true}");
  EXPECT_DOUBLE_EQ(typed.as<SplitSpec>().fraction, 0.02);
  EXPECT_TRUE(typed.as<SplitSpec>().stratified);
}

TEST(DatasetFamily, ReadsImageFolder) {
  const config::Typed plain = read(dataset_family(), "ImageFolder: photos/train");
  const auto& spec = plain.as<ImageFolderSpec>();
  EXPECT_EQ(spec.directory.value, "/home/user/configs/photos/train");
  EXPECT_EQ(spec.color_mode, ColorMode::kRgb);
  EXPECT_EQ(spec.exif, Exif::kRotate);
  EXPECT_FALSE(spec.on_error.skip);
  const auto policy = [](const std::string& text) {
    const config::Typed typed = read(dataset_family(), "ImageFolder: {directory: x, on_error: " + text + "}");
    const OnError found = typed.as<ImageFolderSpec>().on_error;
    // Written YAML reads back as the same value.
    EXPECT_EQ(read(dataset_family(), config::to_yaml(typed.write())).as<ImageFolderSpec>().on_error, found);
    return found;
  };
  EXPECT_EQ(policy("fail"), OnError{});
  EXPECT_EQ(policy("skip"), OnError{.skip = true});
  EXPECT_EQ(policy("{skip: 10}"), (OnError{.skip = true, .max_count = 10}));
  EXPECT_EQ(policy("{skip: 1}"), (OnError{.skip = true, .max_count = 1}));
  EXPECT_EQ(policy("{skip: 100%}"), (OnError{.skip = true, .max_fraction = 1}));
  EXPECT_EQ(policy("{skip: 0.25}"), (OnError{.skip = true, .max_fraction = 0.25}));
  EXPECT_NEAR(*policy("{skip: 0.1%}").max_fraction, 0.001, 1e-12);
  for (const char* text : {"ignore", "{skip: 1.5}", "{skip: -1}", "{skip: 101%}", "{fail: 3}", "{}"})
    EXPECT_THAT(refusal(dataset_family(), std::string("ImageFolder: {directory: x, on_error: ") + text + "}"),
                HasSubstr("error: ImageFolder: on_error"))
        << text;
  EXPECT_THAT(refusal(dataset_family(), "ImageFolder: {directory: x, color_mode: bgr}"), HasSubstr("rgb"));
}

TEST(DatasetFamily, ReadsRecordsAndArrays) {
  const config::Typed records = read(dataset_family(),
                                     "FixedRecords: {files: [a.bin, b.bin], shape: [32, 32, 3], data_format: "
                                     "channels_first, label_bytes: 2, byte_order: big}");
  EXPECT_EQ(records.as<FixedRecordsSpec>().files[1].value, "/home/user/configs/b.bin");
  EXPECT_THAT(refusal(dataset_family(), "FixedRecords: {files: a, shape: [2], label_bytes: 3}"),
              HasSubstr("label_bytes must be 0, 1, 2 or 4, found 3"));
  EXPECT_THAT(refusal(dataset_family(), "FixedRecords: {files: a, shape: [2, 2], record_bytes: 4}"),
              HasSubstr("record_bytes is 4, but label and data need 5"));
  EXPECT_THAT(refusal(dataset_family(), "FixedRecords: {files: a, shape: [2, 0]}"), HasSubstr("found 0"));
  EXPECT_EQ(read(dataset_family(), "CIFAR10: {directory: d, subset: test}").as<CIFAR10Spec>().subset,
            CifarSubset::kTest);
  const config::Typed arrays =
      read(dataset_family(), "HDF5Dataset: {file: a.h5, inputs: {left: l, right: r}, labels: y}");
  EXPECT_EQ(arrays.as<HDF5DatasetSpec>().inputs.arrays[1], (std::pair<std::string, std::string>("right", "r")));
  EXPECT_THAT(config::to_yaml(arrays.write()), HasSubstr("left: l"));
}

TEST(DatasetFamily, RejectsInvalidSpecs) {
  EXPECT_THAT(refusal(dataset_family(), "IDX: {inputs: x}"), HasSubstr("labels"));
  EXPECT_THAT(refusal(dataset_family(), "IDX: {inputs: {}, labels: y}"),
              HasSubstr("c.yaml:1:15: error: IDX: inputs must be"));
  EXPECT_THAT(refusal(dataset_family(), "IDX: {inputs: x, labels: y, take: 0}"),
              HasSubstr("take must be >= 1, found 0"));
  EXPECT_THAT(refusal(dataset_family(), "Split: {of: train, fraction: 1}"),
              HasSubstr("fraction must be > 0 and < 1, found 1"));
  EXPECT_THAT(refusal(dataset_family(), "Splitt: {of: train}"),
              HasSubstr("unknown data set 'Splitt'; did you mean 'Split'?"));
}

TEST(TransformFamily, ReadsKerasArguments) {
  EXPECT_DOUBLE_EQ(read(transform_family(), "Rescaling: {scale: 1/255}").as<RescalingSpec>().scale, 1.0 / 255);
  EXPECT_EQ(read(transform_family(), "RandomFlip: horizontal").as<RandomFlipSpec>().mode, FlipMode::kHorizontal);
  EXPECT_EQ(read(transform_family(), "RandomFlip").as<RandomFlipSpec>().mode, FlipMode::kHorizontalAndVertical);
  EXPECT_EQ(read(transform_family(), "RandomCrop: {height: 32, width: 32, padding: 4}").as<RandomCropSpec>().padding,
            4);
  const config::Typed brightness =
      read(transform_family(), "RandomBrightness: {factor: 63/255, value_range: [0, 255]}");
  EXPECT_THAT(brightness.as<RandomBrightnessSpec>().factor, ElementsAre(63.0 / 255));
  EXPECT_THAT(read(transform_family(), "RandomContrast: 0.8").as<RandomContrastSpec>().value_range,
              ElementsAre(0, 255));
  EXPECT_EQ(read(transform_family(), "GaussianBlur: {kernel_size: 5}").name(), "RandomGaussianBlur");
  EXPECT_THAT(read(transform_family(), "Normalization: {mean: [1, 2], variance: 4}").as<NormalizationSpec>().mean,
              ElementsAre(1, 2));
}

TEST(TransformFamily, RejectsInvalidSpecs) {
  EXPECT_THAT(refusal(transform_family(), "RandomFlip: sideways"), HasSubstr("'sideways'"));
  EXPECT_THAT(refusal(transform_family(), "RandomCrop: {height: 0, width: 3}"),
              HasSubstr("height must be >= 1, found 0"));
  EXPECT_THAT(refusal(transform_family(), "RandomBrightness: -0.5"),
              HasSubstr("factor must be >= 0, or [lower, upper]"));
  EXPECT_THAT(refusal(transform_family(), "Resizing: {height: 5, width: 5, interpolation: nearest, antialias: true}"),
              HasSubstr("antialias needs interpolation: bilinear"));
  EXPECT_THAT(refusal(transform_family(), "RandomZoom: {height_factor: 0.5, width_factor: [0.3, 0.1]}"),
              HasSubstr("width_factor must be one number or [lower, upper]"));
  EXPECT_THAT(refusal(transform_family(), "RandomResizedCrop: {height: 5, width: 5, scale: [0, 1]}"),
              HasSubstr("scale must be > 0 and <= 1, found 0"));
  EXPECT_THAT(refusal(transform_family(), "RandomContrast: {factor: 0.5, value_range: [1, 1]}"),
              HasSubstr("value_range must be [low, high]"));
  EXPECT_THAT(refusal(transform_family(), "RandomGaussianBlur: {kernel_size: 4}"), HasSubstr("must be odd, found 4"));
  EXPECT_THAT(refusal(transform_family(), "RandomHue: 1.5"), HasSubstr("factor must be >= 0 and <= 1, found 1.5"));
  EXPECT_THAT(refusal(transform_family(), "RandomErasing: {fill_value: [1, 2]}"), HasSubstr("one number or three"));
  EXPECT_THAT(refusal(transform_family(), "MixUp: 0"), HasSubstr("alpha must be > 0, found 0"));
  EXPECT_THAT(refusal(transform_family(), "Normalization: {mean: [1, 2], variance: [1, 2, 3]}"),
              HasSubstr("mean has 2 values and variance 3"));
}

TEST(TransformFamily, ErrorsNameTheLine) {
  const config::Typed caffe = read(transform_family(), "\n\nPreprocessInput: caffe");
  EXPECT_EQ(error_of(ErrorKind::kUsage,
                     [&] {
                       static_cast<void>(Pipeline({caffe}, true).output({28, 28, 1}));
                     }),
            "c.yaml:3:1: error: PreprocessInput: mean and variance are for 3 channels, but samples are 28x28x1");
}

}  // namespace
}  // namespace dptrain::data
