#include "dptrain_version.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/contents.h"
#include "formats/keras/keras_file.h"

namespace dptrain::formats {
namespace {

std::uint64_t expected_bytes(const CheckpointState& state) {
  std::uint64_t floats = 0;
  for (const NamedArray& array : state.arrays) floats += array.values.size();
  return keras::expected_bytes(floats, state.arrays.size()) + state.resolved_config.size() + state.trainer.size() +
         state.learned.size();
}

void put_state(Hdf5Writer& file, const CheckpointState& state) {
  const std::string group = kStateGroup;
  file.group(group);
  file.number_attribute(group, "format", kStateFormat);
  file.text_attribute(group, "dptrain_version", std::string(kVersion));
  if (!state.resolved_config.empty()) file.text(group + "/resolved_config", state.resolved_config);
  if (!state.trainer.empty()) file.text(group + "/trainer", state.trainer);
  if (state.arrays.empty()) return;
  file.group(group + "/arrays");
  std::vector<std::string> names;
  for (const NamedArray& array : state.arrays) {
    file.floats(group + "/arrays/" + array.name, array.shape, array.values);
    names.push_back(array.name);
  }
  file.list_attribute(group + "/arrays", "names", names);
}

}  // namespace

std::uint64_t save_checkpoint(const std::string& path, const graph::Model& model, const Compiled& compiled,
                              const CheckpointState& state) {
  Hdf5Writer file(keras::expected_bytes(model) + expected_bytes(state));
  keras::put_model(file,
                   {.model = model, .compiled = compiled, .class_names = state.class_names, .learned = state.learned});
  put_state(file, state);
  return keras::write_sealed(path, file);
}

}  // namespace dptrain::formats
