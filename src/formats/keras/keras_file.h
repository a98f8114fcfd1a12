#pragma once

// Writes a model as a whole-model HDF5 file of Keras (docs/reference/keras-files.md), for the exporter and for
// checkpoints, which add a group of their own. The file is held in memory until it is written.

#include <cstdint>
#include <string>
#include <vector>

#include "formats/exporter.h"
#include "formats/hdf5/hdf5_writer.h"

namespace dptrain::formats::keras {

constexpr const char* kClassNames = "class_names";  ///< an attribute of the root, dptrain's own
/// A text in the root if labels have names: {"kind": ["cat", "dog"], ...}. kClassNames has those of the first label.
constexpr const char* kClassNamesOfOutputs = "dptrain_class_names";
constexpr const char* kFittedStateKey = "dptrain_learned";  ///< a text in the root: data::Source::fit()

/// Text for kClassNamesOfOutputs; "" if no label has a name.
std::string class_names_of_outputs(const ClassNames& names);
/// Puts class names and fitted statistics into the root.
void put_data_facts(Hdf5Writer& file, const Exported& exported);
/// Estimate of the model's size in a file.
std::uint64_t expected_bytes(const graph::Model& model);
std::uint64_t expected_bytes(std::uint64_t floats, std::uint64_t records);
void put_model(Hdf5Writer& file, const Exported& exported);
/// Sentences for the log: layers that Keras opens only with custom_objects or computes differently.
std::vector<std::string> keras_advice(const std::string& path, const graph::Graph& graph);
/// Atomically, with a seal (formats/hdf5/hdf5_writer.h); returns bytes written. Throws Error{kWrite}.
std::uint64_t write_sealed(const std::string& path, Hdf5Writer& file);

}  // namespace dptrain::formats::keras
