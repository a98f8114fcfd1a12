// Where data enters: Input, and Embedding, which reads ids.

#include "formats/keras/keras_layer.h"
#include "nn/embedding.h"
#include "nn/reshaping.h"

namespace dptrain::formats::keras {
namespace {

config::Node batch_shape(const nn::InputSpec& spec) {
  config::Node batch = extents(spec.shape);
  batch.items().insert(batch.items().begin(), config::Node());
  return batch;
}

/// Keras 2 takes these keys of its own and no others.
const RegisteredLayer kInput = layer<nn::InputSpec>()
                                   .class_name("InputLayer")
                                   .alone()
                                   .writes("shape", batch_shape)
                                   .last("sparse", config::Node::boolean(false))
                                   .in_keras2()
                                   .renamed("shape", "batch_input_shape")
                                   .last("ragged", config::Node::boolean(false))
                                   .in_keras3()
                                   .renamed("shape", "batch_shape");

const RegisteredLayer kEmbedding = layer<nn::EmbeddingSpec>()
                                       .behind("embeddings_regularizer", "activity_regularizer", config::Node())
                                       .behind("activity_regularizer", "embeddings_constraint", config::Node())
                                       .in_keras2()
                                       .unset({"input_length"});

}  // namespace
}  // namespace dptrain::formats::keras
