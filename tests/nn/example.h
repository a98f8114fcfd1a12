#pragma once

// Parses members of families (layers, losses, ...) as a config contains them.

#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/config_loader.h"
#include "config/family.h"
#include "config/reader.h"
#include "nn/layer.h"
#include "support/output_shape.h"

namespace dptrain::nn {

struct Example {
  config::Typed value;
  std::string errors;  ///< messages, one per line
};

inline Example read(const config::Family& family, const std::string& yaml) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(yaml, "test.yaml", ".", diagnostics);
  config::Reader reader(diagnostics);
  Example example;
  if (diagnostics.ok()) example.value = family.read(node, reader);
  for (const config::Diagnostic& d : diagnostics.errors()) example.errors += d.message + "\n";
  return example;
}

inline Example read_layer(const std::string& yaml) { return read(layer_family(), yaml); }

/// A valid value.
inline config::Typed make(const config::Family& family, const std::string& yaml) {
  Example example = read(family, yaml);
  if (!example.value) throw std::runtime_error(yaml + ": " + example.errors);
  return example.value;
}

inline config::Typed layer_of(const std::string& yaml) { return make(layer_family(), yaml); }

inline Shape output_of(const std::string& yaml, const std::vector<Shape>& inputs) {
  const config::Typed layer = layer_of(yaml);
  return test::output_shape(layer, inputs);
}

/// The layer's error for these inputs; "" if none.
inline std::string shape_error(const std::string& yaml, const std::vector<Shape>& inputs) {
  try {
    output_of(yaml, inputs);
  } catch (const LayerError& error) {
    return error.what();
  }
  return "";
}

/// "kernel 3x3x5x7 trainable, bias 7 trainable"
inline std::string weights_of(const std::string& yaml, const std::vector<Shape>& inputs) {
  const config::Typed layer = layer_of(yaml);
  std::string text;
  for (const WeightDef& weight : type_of(layer).weights(layer.spec(), inputs))
    text += (text.empty() ? "" : ", ") + weight.name + " " + weight.shape.str() +
            (weight.trainable  ? ""
             : weight.constant ? " constant"
                               : " statistic");
  return text;
}

inline std::string reads_of(const std::string& yaml) {
  const config::Typed layer = layer_of(yaml);
  const BackwardReads reads = type_of(layer).backward_reads(layer.spec());
  return std::string(reads.input ? "input" : "") + (reads.output ? "output" : "") +
         (reads.input_to_train ? "; input to train" : "");
}

}  // namespace dptrain::nn
