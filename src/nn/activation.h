#pragma once

// Activations by their Keras names, from the table in kernels/activation_kind.h.

#include <array>
#include <cstddef>
#include <utility>

#include "config/value.h"
#include "kernels/activation_kind.h"

namespace dptrain::nn {

using kernels::Activation;

/// Whether the gradient can be computed from the output alone, so that the pre-activation need not be kept.
constexpr bool backward_from_output(Activation f) { return kernels::has_gradient_from_output(f); }

/// Whether an op may apply it to its own output in place: softmax and log_softmax stay steps of their own, so that the
/// loss can be fused with softmax, and so does what needs the pre-activation.
constexpr bool can_be_epilogue(Activation f) { return backward_from_output(f) && !kernels::traits_of(f).over_rows; }

constexpr const char* name_of(Activation f) { return kernels::traits_of(f).name; }

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::Activation> {
  using Names = std::pair<dptrain::nn::Activation, const char*>;
  static constexpr std::size_t kAliases = [] {
    std::size_t count = 0;
    for (const auto& row : kernels::kActivations) count += row.alias != nullptr ? 1 : 0;
    return count;
  }();
  /// Names first, so that they are what is written; then the aliases.
  static constexpr auto names = [] {
    std::array<Names, kernels::kActivations.size() + kAliases> all{};
    std::size_t at = 0;
    for (const auto& row : kernels::kActivations) all[at++] = {row.kind, row.name};
    for (const auto& row : kernels::kActivations)
      if (row.alias != nullptr) all[at++] = {row.kind, row.alias};
    return all;
  }();
};
