"""PositionEmbedding, which KerasHub has and Keras has not. Where KerasHub is imported, its own class opens the file; else

    model = keras.models.load_model("model.h5", custom_objects={"keras_hub>PositionEmbedding": PositionEmbedding})

Works with Keras 2 (TensorFlow 2.15) and with Keras 3 on TensorFlow.
"""

import keras
import tensorflow as tf


class PositionEmbedding(keras.layers.Layer):
    """The first rows of a trained table, the same for every sample."""

    def __init__(self, sequence_length, initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.sequence_length = int(sequence_length)
        self.initializer = keras.initializers.get(initializer)

    def build(self, input_shape):
        self.position_embeddings = self.add_weight(
            name="embeddings", shape=[self.sequence_length, input_shape[-1]], initializer=self.initializer)
        super().build(input_shape)

    def call(self, inputs):
        return tf.broadcast_to(self.position_embeddings[: inputs.shape[1]], tf.shape(inputs))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "sequence_length": self.sequence_length,
                "initializer": keras.initializers.serialize(self.initializer)}
