"""The layers of Keras Applications that Keras's load_model does not know by itself, for files that dptrain has written.

    model = keras.models.load_model("model.h5", custom_objects=LAYERS)

Works with Keras 2 (TensorFlow 2.15) and with Keras 3.
"""

from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

LAYERS = {"LayerScale": LayerScale, "StochasticDepth": StochasticDepth, "CustomScaleLayer": CustomScaleLayer}
