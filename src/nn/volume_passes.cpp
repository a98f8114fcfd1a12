#include "nn/volume_passes.h"

#include <map>
#include <utility>

namespace dptrain::nn {
namespace {

std::map<std::type_index, std::function<VolumePasses(const void* spec)>>& passes_table() {
  static std::map<std::type_index, std::function<VolumePasses(const void* spec)>> table;
  return table;
}

}  // namespace

VolumePasses passes_of(const config::Typed& layer) {
  const auto found = passes_table().find(layer.type());
  return found == passes_table().end() ? VolumePasses{} : found->second(layer.spec());
}

bool is_computed_in_passes(std::type_index spec) { return passes_table().contains(spec); }

void ComputedInPasses::add(std::type_index spec, std::function<VolumePasses(const void* spec)> make) {
  passes_table().emplace(spec, std::move(make));
}

}  // namespace dptrain::nn
