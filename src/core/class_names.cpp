#include "core/class_names.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace dptrain {
namespace {

const std::vector<std::string> kNone;

}  // namespace

ClassNames::ClassNames(std::vector<std::string> names) { add("", std::move(names)); }
ClassNames::ClassNames(std::initializer_list<std::string> names) : ClassNames(std::vector<std::string>(names)) {}

void ClassNames::add(std::string output, std::vector<std::string> names) {
  if (!names.empty()) entries_.push_back({std::move(output), std::move(names)});
}

const std::vector<std::string>& ClassNames::names_of(const std::string& output) const {
  const Entry* unnamed = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.output == output) return entry.names;
    if (entry.output.empty()) unnamed = &entry;
  }
  return unnamed == nullptr ? kNone : unnamed->names;
}

const std::vector<std::string>& ClassNames::first() const { return entries_.empty() ? kNone : entries_.front().names; }

bool ClassNames::has_named_output() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return !entry.output.empty(); });
}

bool ClassNames::differs_from(const ClassNames& other) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    const std::vector<std::string>& names = other.names_of(entry.output);
    return !names.empty() && names != entry.names;
  });
}

std::string ClassNames::text() const {
  std::vector<std::string> parts;
  for (const Entry& entry : entries_)
    parts.push_back((entry.output.empty() ? "" : entry.output + ": ") + join(entry.names, ", "));
  return join(parts, "; ");
}

}  // namespace dptrain
