#include "graph/names.h"

#include <cctype>

namespace dptrain::graph {
namespace {

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string snake_case(std::string_view class_name) {
  std::string text;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const bool word_starts = i > 0 && upper(class_name[i]) &&
                             (lower(class_name[i - 1]) || (i + 1 < class_name.size() && lower(class_name[i + 1])));
    if (word_starts) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(class_name[i])));
  }
  return text;
}

std::string automatic_base(std::string_view type) { return type == "Input" ? "input_layer" : snake_case(type); }

std::string name_complaint(const std::string& name) {
  const auto plain = [](char c) { return upper(c) || lower(c) || digit(c) || c == '.'; };
  bool good = !name.empty() && plain(name[0]) && name.size() <= 200;
  for (const char c : name) good = good && (plain(c) || c == '_' || c == '-');
  if (!good) return "1 to 200 letters, digits, '_', '-' and '.', the first a letter or digit";
  return name == "top_level_model_weights" ? "another name than the one Keras files keep for themselves" : "";
}

std::string repeated_name(const std::string& name, std::int64_t n) {
  return name + (digit(name.back()) ? "_" : "") + std::to_string(n);
}

std::string join_names(const std::string& base, const std::string& local) {
  if (base.empty() || local.empty()) return base + local;
  return base + "_" + local;
}

}  // namespace dptrain::graph
