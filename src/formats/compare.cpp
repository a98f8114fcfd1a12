#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/floats.h"
#include "core/format.h"
#include "core/text.h"
#include "formats/contents.h"

namespace dptrain::formats {
namespace {

using Names = std::vector<std::string>;

/// Float arrays of a file by name: "conv1/kernel", then "state velocity/conv1/kernel". `names`: the weights' names in
/// the other file, which apply to this one, too, since the order of a layer's weights is the same.
std::vector<std::pair<std::string, StoredArray>> arrays_of(const FileContents& contents,
                                                           const std::map<std::string, Names>& names) {
  std::vector<std::pair<std::string, StoredArray>> all;
  for (const StoredLayer& layer : contents.layers()) {
    const auto other = names.find(layer.full_name());
    const bool by_other = other != names.end() && other->second.size() == layer.weights.size();
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      all.emplace_back(layer.full_name() + "/" + (by_other ? other->second[i] : layer.short_name(i)), layer.weights[i]);
  }
  for (auto& [name, dataset] : contents.arrays()) all.emplace_back("state " + name, dataset);
  return all;
}

std::map<std::string, Names> names_of(const FileContents& contents) {
  std::map<std::string, Names> all;
  for (const StoredLayer& layer : contents.layers())
    for (std::size_t i = 0; i < layer.weights.size(); ++i) all[layer.full_name()].push_back(layer.short_name(i));
  return all;
}

/// A `.keras` counts the weights of a layer and a `.safetensors` or `.h5` names them.
bool only_counts(const FileContents& contents) { return !contents.tensors && contents.root.contains("layers"); }

struct Distance {
  double largest = 0;   ///< max |a - b|
  double relative = 0;  ///< |a - b| / |b|, Euclidean
};

/// The distance of two NaNs is zero, that of a NaN and a number infinite.
Distance distance(const std::vector<float>& a, const std::vector<float>& b) {
  Distance d;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      norm += std::isfinite(b[i]) ? static_cast<double>(b[i]) * b[i] : 0;
      continue;
    }
    const double gap = nan_as_infinite(std::abs(static_cast<double>(a[i]) - b[i]));
    d.largest = std::max(d.largest, gap);
    difference += gap * gap;
    norm += static_cast<double>(b[i]) * b[i];
  }
  if (d.largest > 0) d.relative = std::isfinite(difference) && norm > 0 ? std::sqrt(difference / norm) : HUGE_VAL;
  return d;
}

class Comparison {
 public:
  Comparison(const FileContents& a, const FileContents& b, double tolerance) : tolerance_(tolerance) {
    compare_arrays(a, b);
    if (a.class_names() != b.class_names()) {
      add_line("class names differ: {} in A, {} in B", printable(a.class_names().text()),
               printable(b.class_names().text()));
      result_.equal = false;
    }
    if (a.fitted_state() != b.fitted_state()) {
      add_line("the fitted state of the data differs");
      result_.equal = false;
    }
    if (a.model_config() != b.model_config()) add_line("the models' descriptions differ");
    if (a.has_state() && b.has_state()) {
      compare_lines("resolved config", a.resolved_config(), b.resolved_config());
      if (a.trainer() != b.trainer()) add_line("the trainers' positions differ (see 'ckpt show')");
    } else if (a.has_state() != b.has_state()) {
      add_line("only {} contains the state of a training run", a.has_state() ? "A" : "B");
    }
    summarize();
  }

  FileDifference take() { return std::move(result_); }

 private:
  template <class... Args>
  void add_line(fmt::format_string<Args...> text, Args&&... args) {
    result_.report += fmt::format(text, std::forward<Args>(args)...) + "\n";
  }

  void compare_arrays(const FileContents& a, const FileContents& b) {
    const std::map<std::string, Names> none;
    const auto left = arrays_of(a, only_counts(a) ? names_of(b) : none);
    std::map<std::string, StoredArray> right;
    for (auto& [name, dataset] : arrays_of(b, only_counts(b) ? names_of(a) : none)) right.emplace(name, dataset);
    for (const auto& [name, dataset] : left) {
      const auto found = right.find(name);
      if (found == right.end()) {
        missing(name, "A");
      } else {
        compare(name, dataset, found->second);
        right.erase(found);
      }
    }
    for (const auto& [name, dataset] : right) missing(name, "B");
  }

  void missing(const std::string& name, const char* only) {
    add_line("{}: only in {}", printable(name), only);
    ++different_;
  }

  void compare(const std::string& name, const StoredArray& a, const StoredArray& b) {
    if (a.shape() != b.shape()) {
      add_line("{}: {} in A, {} in B", printable(name), a.shape().str(), b.shape().str());
      ++different_;
      return;
    }
    const Distance d = distance(a.floats(), b.floats());
    const bool far = d.largest > tolerance_;
    ++(far ? different_ : equal_);
    if (d.largest > 0)
      add_line("{}: max |A - B| {:.3g}, relative {:.3g}{}", printable(name), d.largest, d.relative,
               far ? "" : " (within the tolerance)");
  }

  /// Lines of only one of the texts, in any order.
  void compare_lines(const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    const std::vector<std::string> left = split(a, '\n'), right = split(b, '\n');
    add_line("{} differs:", what);
    const auto only = [&](const std::vector<std::string>& in, const std::vector<std::string>& not_in, char sign) {
      std::multiset<std::string> known(not_in.begin(), not_in.end());
      for (const std::string& line : in) {
        const auto found = known.find(line);
        if (found != known.end())
          known.erase(found);
        else
          add_line("  {} {}", sign, printable(line));
      }
    };
    only(left, right, '-');
    only(right, left, '+');
  }

  void summarize() {
    if (different_ == 0) {
      add_line("{} arrays equal{}", equal_, tolerance_ > 0 ? fmt::format(" within {:.3g}", tolerance_) : "");
    } else {
      add_line("{} arrays differ, {} equal", different_, equal_);
      result_.equal = false;
    }
  }

  double tolerance_;
  FileDifference result_;
  int equal_ = 0, different_ = 0;
};

}  // namespace

FileDifference compare_files(const std::string& a, const std::string& b, double tolerance) {
  return Comparison(FileContents::open(a), FileContents::open(b), tolerance).take();
}

}  // namespace dptrain::formats
