"""LocalResponseNormalization, the one layer of dptrain that Keras has not.

    model = keras.models.load_model("model.h5", custom_objects={"LocalResponseNormalization": LocalResponseNormalization})

Works with Keras 2 (TensorFlow 2.15) and with Keras 3 on TensorFlow.
"""

import keras
import tensorflow as tf


class LocalResponseNormalization(keras.layers.Layer):
    """y = x / (bias + alpha * sum over the channels within depth_radius of x^2) ** beta"""

    def __init__(self, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, **kwargs):
        super().__init__(**kwargs)
        self.depth_radius = int(depth_radius)
        self.bias = float(bias)
        self.alpha = float(alpha)
        self.beta = float(beta)

    def call(self, inputs):
        return tf.nn.local_response_normalization(
            inputs, depth_radius=self.depth_radius, bias=self.bias, alpha=self.alpha, beta=self.beta)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "depth_radius": self.depth_radius, "bias": self.bias,
                "alpha": self.alpha, "beta": self.beta}
