#pragma once

// How Keras writes a metric: by default its class with the keys of the schema. What differs stands in
// keras_metrics.cpp, one expression per metric:
//   const RegisteredMetric<nn::MeanIoUSpec> kMeanIoU(mean_io_u);
// The table is filled before main and read-only afterwards: any thread may read it.

#include <functional>
#include <string>
#include <utility>

#include "config/family.h"

namespace dptrain::exporting::keras {

struct MetricForm {
  std::string word{};  ///< a string of Keras in place of the class; "": none
  /// Keras's arguments, from all keys as they are written in a config.
  std::function<config::Node(const void* spec, config::Node written)> arguments{};
};

/// The word, or the arguments as a map.
config::Node metric_config(const config::Typed& metric);

void add_metric_form(std::type_index spec, MetricForm form);

/// A static object of this type puts a form into the table before main.
template <class Spec>
struct RegisteredMetric {
  explicit RegisteredMetric(std::string word) { add_metric_form(typeid(Spec), {.word = std::move(word)}); }
  explicit RegisteredMetric(config::Node (*f)(const Spec&, config::Node written)) {
    add_metric_form(typeid(Spec), {.arguments = [f](const void* spec, config::Node written) {
                      return f(*static_cast<const Spec*>(spec), std::move(written));
                    }});
  }
};

}  // namespace dptrain::exporting::keras
