#include "experiment/nonfinite.h"

#include "config/family.h"

namespace dptrain::experiment {
namespace {

config::Family make_nonfinite_family() {
  using config::key;
  using config::Schema;
  using config::type_def;
  config::Family family("on_nonfinite");
  family.add(type_def<StopSpec>(Schema::of<StopSpec>("stop")));
  using S = SkipStepSpec;
  family.add(type_def<S>(
      Schema::of<S>("skip_step")
          .positional(key("at_most", &S::at_most).at_least(1).doc("number of times in a run; after that it stops"))));
  using R = RollbackSpec;
  family.add(type_def<R>(
      Schema::of<R>("rollback")
          .positional(key("factor", &R::factor).above(0).at_most(1).doc("factor of the learning rate after a rollback"))
          .key(key("at_most", &R::at_most).at_least(1).doc("number of times in a run; after that it stops"))));
  return family;
}

}  // namespace

config::Family& nonfinite_family() {
  static config::Family family = make_nonfinite_family();
  return family;
}

}  // namespace dptrain::experiment
