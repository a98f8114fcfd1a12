#include "nn/regularizer.h"

namespace dptrain::nn {
namespace {

using config::key;
using config::Schema;
using config::type_def;

// Member pointers of the base are taken as those of the type itself: a Key knows its owner.
template <class Spec>
config::Key<Spec, double> penalty_key(const char* name, double Spec::*member) {
  return key(name, member).at_least(0);
}

config::Family make_regularizers() {
  config::Family family("regularizer");
  family.add(type_def<L1Spec>(Schema::of<L1Spec>("L1").positional(
                                  penalty_key<L1Spec>("l1", &L1Spec::l1).doc("factor of the sum of absolute values")),
                              {"l1"}));
  family.add(type_def<L2Spec>(
      Schema::of<L2Spec>("L2").positional(penalty_key<L2Spec>("l2", &L2Spec::l2).doc("factor of the sum of squares")),
      {"l2"}));
  family.add(type_def<L1L2Spec>(
      Schema::of<L1L2Spec>("L1L2")
          .positional(penalty_key<L1L2Spec>("l1", &L1L2Spec::l1).doc("factor of the sum of absolute values"))
          .key(penalty_key<L1L2Spec>("l2", &L1L2Spec::l2).doc("factor of the sum of squares")),
      {"l1_l2", "l1l2"}));
  return family;
}

}  // namespace

config::Family& regularizer_family() {
  static config::Family family = make_regularizers();
  return family;
}

Penalty penalty(const Regularizer& regularizer) {
  if (const auto* l1 = regularizer.get_if<L1Spec>()) return *l1;
  if (const auto* l2 = regularizer.get_if<L2Spec>()) return *l2;
  if (const auto* both = regularizer.get_if<L1L2Spec>()) return *both;
  return {};
}

}  // namespace dptrain::nn
