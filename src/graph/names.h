#pragma once

// Names of layers and steps: Keras's rules for what a name may be and for the names it gives by itself.

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace dptrain::graph {

/// "MaxPooling2D" -> "max_pooling2d", "ReLU" -> "re_lu" (Keras to_snake_case).
std::string snake_case(std::string_view class_name);
/// What Keras calls an unnamed layer of this type, before the number: snake_case, "input_layer" for Input.
std::string automatic_base(std::string_view type);
/// "" or what is wrong with it: Keras and HDF5 paths want [A-Za-z0-9.][A-Za-z0-9_.-]*.
std::string name_complaint(const std::string& name);
/// Name of the n-th copy (from 1) of a repeated step: conv1, conv2; stage1_1 when the name already ends in a digit.
std::string repeated_name(const std::string& name, std::int64_t n);
/// "block1" + "conv1" = "block1_conv1"; either may be empty.
std::string join_names(const std::string& base, const std::string& local);

/// Numbers names as Keras does: conv2d, conv2d_1, ... passing over those that are taken.
class AutoNames {
 public:
  std::string next(const std::string& base) {
    std::string name;
    do {
      const int n = count_[base]++;
      name = n == 0 ? base : base + "_" + std::to_string(n);
    } while (taken_.contains(name));
    return name;
  }
  void take(const std::string& name) { taken_.insert(name); }

 private:
  std::map<std::string, int> count_;
  std::set<std::string> taken_;
};

}  // namespace dptrain::graph
