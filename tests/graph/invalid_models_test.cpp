// Invalid models and the exact messages about them.

#include "graph/example.h"

namespace dptrain::graph {
namespace {

struct InvalidModelCase {
  const char* yaml;
  const char* errors;
};

void expect_errors(const std::vector<InvalidModelCase>& cases) {
  for (const InvalidModelCase& c : cases) EXPECT_EQ(build_text(c.yaml).errors, c.errors) << c.yaml;
}

TEST(InvalidModel, Steps) {
  expect_errors({
      {"layers: [{Input: [4]}, {dense: 3}]", "1:25 unknown layer 'dense'; did you mean 'Dense'?\n"},
      {"layers: [{Input: [4]}, {MaxPool2D: 3}]", "1:25 unknown layer 'MaxPool2D'; did you mean 'MaxPooling2D'?\n"},
      {"layers: [{Input: [4]}, {Dense: 3, name: a}]",
       "1:35 model: a step is one 'Type: {arguments}', found 'name' next to 'Dense'; put the arguments in braces or "
       "indent them further\n"},
      {"layers: [{Input: [4]}, 7, [Dense]]",
       "1:24 unknown layer '7'; docs/reference/layers.md lists the layers, model.blocks and model.shared name your "
       "own\n1:27 "
       "model: a step is 'Type' or 'Type: {arguments}', found a list\n"},
      {"layers: []", "1:9 model: layers must be a list of steps, found an empty list\n"},
      {"layer: []", "1:1 model: unknown key 'layer'; did you mean 'layers'?\n1:1 model: missing key 'layers'\n"},
      {"layers: [{Dense: 3}]",
       "1:11 Dense 'dense': there is no step above to read; begin with Input, or name steps with inputs\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, activation: rellu, name: 'a b'}}]",
       "1:68 Dense 'a b': name must be 1 to 200 letters, digits, '_', '-' and '.', the first a letter or digit, found "
       "'a b'\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, repeat: 0}}]", "1:51 Dense: repeat must be >= 1, found 0\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, repeat: 1e6}}]",
       "1:51 Dense: repeat must be <= 20000, found 1000000\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, if: maybe}}]",
       "1:47 Dense: if must be true or false, found 'maybe'\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, device: 'tpu:0'}}]",
       "1:51 Dense 'dense': device must be a slot of the replica: a word as in a, cpu, or gpu:K, found 'tpu:0'\n"},
      {"weights: {file: a.h5, up_to: pool}\nlayers: [{Input: [4]}, {Dense: {units: 3, name: fc}}]",
       "1:30 model.weights: up_to: no step is called 'pool'\n"},
      {"weights: {file: a.h5, expect: [fc, fcc]}\nlayers: [{Input: [4]}, {Dense: {units: 3, name: fc}}]",
       "1:31 model.weights: expect: no layer is called 'fcc'; did you mean 'fc'?\n"},
      {"weights: {file: a.h5, rename: {'a(': b}}\nlayers: [{Input: [4]}]",
       "1:32 model.weights: rename: 'a(' is not a regular expression: Mismatched '(' and ')' in regular expression\n"},
      {"weights: {match: names}\nlayers: [{Input: [4]}]",
       "1:18 model.weights: match must be auto, name or topology, found 'names'; did you mean 'name'?\n1:1 "
       "model.weights: missing key 'file'\n"},
  });
}

TEST(InvalidModel, SeveralAtOnce) {
  EXPECT_EQ(build_text(R"(
layers:
  - Input: {shape: [8, 8, 3]}
  - Conv2D: {name: conv1, filters: 0, kernel_size: 3}
  - Conv2D: {name: conv2, filters: 4, kernal_size: 3}
  - Dense: {units: 3, inputs: conv3}
)")
                .errors,
            "4:36 Conv2D 'conv1': filters must be >= 1, found 0\n"
            "5:39 Conv2D 'conv2': unknown argument 'kernal_size'; did you mean 'kernel_size'?\n"
            "6:31 Dense 'dense': no step above is called 'conv3'; did you mean 'conv1'?\n");
}

TEST(InvalidModel, Shapes) {
  expect_errors({
      {"layers: [{Input: [4, 4, 1]}, {Conv2D: {name: conv1, filters: 2, kernel_size: 9}}]",
       "1:31 Conv2D 'conv1': window 9x9 is larger than the input 4x4\n"},
      {"layers: [{Input: [4, 4, 1]}, Flatten, {MaxPooling2D: 2}]",
       "1:40 MaxPooling2D 'max_pooling2d': expected an input of 3 axes (height, width, channels), flatten is 16\n"},
      {"layers: [{Input: [4]}, Add]", "1:24 Add 'add': expected at least 2 inputs, found 1\n"},
      {"layers: [{Input: [4]}, {Input: {shape: [4], name: b}}, {Dense: {units: 3, inputs: [input_layer, b]}}]",
       "1:57 Dense 'dense': expected 1 input, found 2\n"},
      {"layers: [{Input: [16777216]}, {Dense: {units: 16777216}}]",
       "1:32 Dense 'dense': kernel would be 16777216x16777216: too large\n"},
      {"layers: [{Input: [4]}, {Input: {shape: [4], inputs: input_layer}}]",
       "1:25 Input 'input_layer_1': takes no inputs\n"},
  });
}

TEST(InvalidModel, ShapesInsideABlockNameItsUse) {
  EXPECT_EQ(build_text(R"(
blocks:
  residual:
    params: {filters: required}
    layers:
      - Conv2D: {name: conv, filters: $filters, kernel_size: 3, padding: same}
      - BatchNormalization: {name: bn2}
      - Add: {inputs: [bn2, input]}
layers:
  - Input: {shape: [8, 8, 4]}
  - residual: {name: a, filters: 4, repeat: 2}
  - residual: {name: b, filters: 6}
  - residual: {name: c, filters: 6}
)")
                .errors,
            "8:9 Add 'add_2': inputs differ: bn2 is 8x8x6, input is 8x8x4\n"
            "  'input' is the input of block 'residual', used at net.yaml:12:5\n");
}

TEST(InvalidModel, ReferencesAndNames) {
  expect_errors({
      {"layers: [{Input: [4]}, {Dense: {name: a, units: 3}}, {Dense: {name: a, units: 3}}]",
       "1:55 Dense 'a': the name 'a' is taken\n  first used at net.yaml:1:25\n"},
      {"layers: [{Input: [4]}, {Dense: {name: a, units: 3, if: false}}, {Dense: {units: 3, inputs: a}}]",
       "1:92 Dense 'dense': step 'a' is left out by its 'if'\n  defined at net.yaml:1:25\n"},
      {"layers: [{Input: [4]}, {Dense: {name: a, units: 3}}, {Dense: {units: 3, inputs: input_layer}}]",
       "1:25 Dense 'a': no step reads this one and it is not an output; remove it, or name it in an 'inputs' or in "
       "'outputs'\n"},
      {"layers: [{Input: [4]}, {Dense: 3}]\noutputs: dens",
       "2:10 model: no step is called 'dens'; did you mean 'dense'?\n"},
      {"layers: [{Input: [4]}, {Dense: 3}]\noutputs: [dense, dense]", "2:18 model: output 'dense' is named twice\n"},
      {"layers: [{Input: [4]}, {Dense: {name: fc1, units: 3}}]\nfreeze: [fc2]",
       "2:10 model: no layer is called 'fc2'; did you mean 'fc1'?\n"},
      {"layers: [{Input: [4]}, {Dense: 3}]\nfreeze: {upto: dense}",
       "2:9 model: freeze must be a list of patterns such as block1_*, or {up_to: name}\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, device: 'emu:1'}}]",
       "1:51 Dense 'dense': device must be a slot of the replica: a word as in a, cpu, or gpu:K, found 'emu:1'\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, device: 'gpu:x'}}]",
       "1:51 Dense 'dense': device must be a slot of the replica: a word as in a, cpu, or gpu:K, found 'gpu:x'\n"},
      {"layers: [{Input: [4]}, {Dense: {units: 3, device: 0}}]",
       "1:51 Dense 'dense': device must be a slot of the replica: a word as in a, cpu, or gpu:K, found 0\n"},
      {"blocks: {b: {layers: [{Dense: 3}]}}\nlayers: [{Input: [4]}, {b: {device: a b}}]",
       "2:37 b: device must be a slot of the replica: a word as in a, cpu, or gpu:K, found 'a b'\n"},
  });
}

TEST(InvalidModel, Blocks) {
  expect_errors({
      {"blocks: {vgg: {params: {filters: required, convs: 2}, layers: [{Dense: $filters}]}}\nlayers: [{Input: [4]}, "
       "{vgg: {name: "
       "block1, filter: 64}}]",
       "2:45 vgg: unknown argument 'filter'; did you mean 'filters'?\n"},
      {"blocks: {vgg: {params: {filters: required}, layers: [{Dense: $filters}]}}\nlayers: [{Input: [4]}, vgg]",
       "2:24 vgg: missing argument 'filters'\n"},
      {"blocks: {a: {layers: [{Dense: 3}, b]}, b: {layers: [a]}}\nlayers: [{Input: [4]}, a]",
       "1:53 a: block 'a' uses itself: a > b > a\n"},
      {"blocks: {Vgg: {layers: [{Dense: 3}]}}\nlayers: [{Input: [4]}, {Dense: 3}]",
       "1:10 model: block 'Vgg': the name must start with a lower-case letter and contain letters, digits, '_', '-' "
       "and '.' (built-in layers start with a capital)\n"},
      {"blocks: {a: {param: {n: 1}, layers: [{Dense: 3}]}}\nlayers: [{Input: [4]}, a]",
       "1:14 block 'a': unknown key 'param'; did you mean 'params'?\n"},
      {"blocks: {a: {params: {name: 1}, layers: [{Dense: 3}]}}\nlayers: [{Input: [4]}, a]",
       "1:23 block 'a': 'name' is an argument that every step has and cannot be a parameter\n"},
      {"blocks: {a: {layers: [{Dense: {units: 3, inputs: imput}}]}}\nlayers: [{Input: [4]}, a]",
       "1:50 Dense 'dense': no step above is called 'imput'; did you mean 'input'?\n"},
      {"blocks: {a: {layers: [{Dense: {units: $nits}}]}}\nlayers: [{Input: [4]}, a, a]",
       "1:39 Dense 'dense': unknown variable '$nits'; give it with --var nits=... or in the environment\n"},
      {"blocks: {a: {layers: [{Dense: {units: 3, name: input}}]}}\nlayers: [{Input: [4]}, a]",
       "1:48 Dense 'input': name must be a name other than 'input', the input of block 'a', found 'input'\n"},
  });
}

TEST(InvalidModel, Shared) {
  expect_errors({
      {"shared: {enc: {Dense: 3}}\nlayers: [{Input: [4]}, {enc: {units: 5}}]",
       "2:31 enc: unknown argument 'units'; write its arguments in its definition under 'shared'\n"},
      {"shared: {enc: {Dense: {units: 3, name: x}}}\nlayers: [{Input: [4]}, enc, enc]",
       "1:16 enc: 'name' belongs to the uses of shared 'enc', not to its definition\n"},
      {"shared: {enc: {Dense: 3}}\nlayers: [{Input: [4]}, enc, enc]",
       "2:29 Dense 'enc_1': shared 'enc' was first used with an input of 4, here input is 3\n  defined at "
       "net.yaml:1:16\n"},
      {"shared: {enc: {Dense: 3}}\nlayers: [{Input: [4]}, {enc: {trainable: false}}]",
       "2:25 enc: trainable belongs to the definition under 'shared': all uses have the same weights\n"},
      {"shared: {enc: {Input: [3]}}\nlayers: [enc]", "1:16 Input 'enc': an Input cannot be shared\n"},
      {"shared: {enc: {Dense: 0}}\nlayers: [{Input: [4]}, enc, enc]",
       "1:23 Dense 'enc': units must be >= 1, found 0\n"},
  });
}

TEST(InvalidModel, UnusedSharedLayersAreOnlyAWarning) {
  const Built built = build_text("shared: {enc: {Dense: 3}, used: {Dense: 2}}\nlayers: [{Input: [4]}, used]");
  EXPECT_EQ(built.errors, "");
  EXPECT_EQ(built.warnings, "shared 'enc' is never used\n");
}

TEST(InvalidModel, NestingIsLimited) {
  std::string yaml = "blocks:\n  b0: {layers: [{Activation: relu}]}\n";
  for (int i = 1; i <= 20; ++i) yaml += "  b" + std::to_string(i) + ": {layers: [b" + std::to_string(i - 1) + "]}\n";
  EXPECT_EQ(build_text(yaml + "layers: [{Input: [4]}, b20]\n").errors,
            "7:17 b4: blocks are nested more than 16 deep\n");
}

TEST(InvalidModel, BlocksThatDoubleAreLimited) {
  std::string yaml = "blocks:\n  b0: {layers: [{Activation: relu}]}\n";
  for (int i = 1; i <= 15; ++i) {
    const std::string inner = "b" + std::to_string(i - 1);
    yaml += "  b" + std::to_string(i) + ": {layers: [" + inner + ", " + inner + "]}\n";
  }
  EXPECT_NE(build_text(yaml + "layers: [{Input: [4]}, b15]\n").errors.find("the model has more than 20,000 steps"),
            std::string::npos);
}

}  // namespace
}  // namespace dptrain::graph
