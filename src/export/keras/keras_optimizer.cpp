#include "export/keras/keras_optimizer.h"

#include "export/keras/keras_values.h"
#include "export/spec_table.h"
#include "nn/optimizers.h"

namespace dptrain::exporting::keras {
namespace {

struct OptimizerForm {
  bool in_keras2 = true;
};

SpecTable<OptimizerForm>& optimizer_forms() {
  static SpecTable<OptimizerForm> table;
  return table;
}

template <class Spec>
struct NotInKeras2 {
  NotInKeras2() { optimizer_forms().add(typeid(Spec), {.in_keras2 = false}); }
};

const NotInKeras2<nn::AdamWSpec> kAdamW;
const NotInKeras2<nn::LambSpec> kLamb;
const NotInKeras2<nn::LionSpec> kLion;

}  // namespace

bool in_keras2(const config::Typed& optimizer) {
  const OptimizerForm* form = optimizer_forms().find(optimizer.type());
  return form == nullptr || form->in_keras2;
}

config::Node optimizer_arguments(const config::Typed& optimizer) {
  // The common ones lie in the base, whose keys every optimizer has: all others are its own.
  static const config::Schema shared = nn::OptimizerBuilder<nn::OptimizerCommon>("").build()->schema;
  const config::Node common_keys = shared.write(shared.make().get());
  config::Node own = config::Node::map();
  for (const config::Field& field : optimizer.def().schema.fields())
    if (common_keys.find(field.name) == nullptr) own.set(field.name, value(field, optimizer.spec()));
  return own;
}

}  // namespace dptrain::exporting::keras
