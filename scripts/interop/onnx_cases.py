"""Small models, one or more for each layer that ONNX files support, for onnx_outputs.py.

`CASES` maps a name to (input shape, layers) or (input shape, layers, dtype of the input), the layers as in a config.
"""

ACTIVATIONS = ("linear relu relu6 leaky_relu elu selu gelu swish tanh sigmoid softmax softplus hard_sigmoid hard_silu mish "
               "exponential softsign log_softmax").split()
CELLS = {"LSTM": ("recurrent_activation",), "GRU": ("recurrent_activation",), "SimpleRNN": ()}
EMBEDDED = [{"Embedding": {"input_dim": 7, "output_dim": 4, "mask_zero": True}}]

CASES = {}


def case(name, shape, *layers, dtype="float32"):
    assert name not in CASES, name
    CASES[name] = (shape, list(layers), dtype)


def two(shape, layer, left=None, right=None):
    """A layer of two inputs, both made of the one."""
    return [{"Dense": {"units": shape[-1], "name": "left", "inputs": "in"}} if left is None else left,
            {"Dense": {"units": shape[-1], "name": "right", "inputs": "in"}} if right is None else right,
            {next(iter(layer)): {**next(iter(layer.values())), "inputs": ["left", "right"]}}]


def activations():
    for name in ACTIVATIONS:
        case(f"Activation {name}", [6, 5], {"Activation": name})
        case(f"Conv2D {name}", [5, 6, 3], {"Conv2D": {"filters": 4, "kernel_size": 2, "activation": name}})
    for name, arguments in {"plain": {}, "most": {"max_value": 1.0}, "slope": {"negative_slope": 0.2},
                            "slope and most": {"negative_slope": 0.2, "max_value": 0.5}, "threshold": {"threshold": 0.3},
                            "all": {"negative_slope": 0.1, "max_value": 0.8, "threshold": 0.3}}.items():
        case(f"ReLU {name}", [4, 5, 3], {"ReLU": arguments})
    case("LeakyReLU", [7], {"LeakyReLU": 0.25})
    case("ELU", [7], {"ELU": 0.7})
    case("PReLU", [5, 4, 3], {"PReLU": {"alpha_initializer": {"RandomUniform": {"minval": -1, "maxval": 1}}}})
    case("PReLU shared", [5, 4, 3], {"Conv2D": {"filters": 4, "kernel_size": 2}},
         {"PReLU": {"shared_axes": [1, 2], "alpha_initializer": {"RandomUniform": {"minval": -1, "maxval": 1}}}},
         {"Conv2D": {"filters": 2, "kernel_size": 2}})
    case("Softmax", [3, 5], "Softmax")


def convolutions():
    kinds = {1: ([9, 4], "1D"), 2: ([9, 8, 4], "2D"), 3: ([6, 7, 5, 4], "3D")}
    windows = {"valid": {}, "same": {"padding": "same"}, "strided": {"strides": 2}, "same strided": {"padding": "same", "strides": 2},
               "dilated": {"padding": "same", "dilation_rate": 2}, "wide": {"padding": "same", "kernel_size": 4, "strides": 3},
               "no bias": {"use_bias": False, "kernel_size": 2}}
    for shape, kind in kinds.values():
        for name, arguments in windows.items():
            arguments = {"kernel_size": 3, **arguments}
            case(f"Conv{kind} {name}", shape, {f"Conv{kind}": {"filters": 6, **arguments}})
            case(f"Conv{kind}Transpose {name}", shape, {f"Conv{kind}Transpose": {"filters": 3, **arguments}})
            if kind != "3D":
                case(f"DepthwiseConv{kind} {name}", shape, {f"DepthwiseConv{kind}": {"depth_multiplier": 2, **arguments}})
                case(f"SeparableConv{kind} {name}", shape,
                     {f"SeparableConv{kind}": {"filters": 5, "depth_multiplier": 2, **arguments}})
        case(f"Conv{kind} groups", shape, {f"Conv{kind}": {"filters": 6, "kernel_size": 2, "groups": 2}})
        for padding in ("valid", "same"):
            case(f"Conv{kind}Transpose output_padding {padding}", shape,
                 {f"Conv{kind}Transpose": {"filters": 3, "kernel_size": 3, "strides": 3, "padding": padding, "output_padding": 1}})
    case("Conv1D causal", [9, 4], {"Conv1D": {"filters": 3, "kernel_size": 3, "padding": "causal", "dilation_rate": 2}})
    for kind, shape in (("1D", [9, 4]), ("2D", [9, 8, 4]), ("3D", [6, 7, 5, 4])):
        for pooling in ("MaxPooling", "AveragePooling"):
            case(f"{pooling}{kind}", shape, {pooling + kind: {}})
            case(f"{pooling}{kind} same", shape, {pooling + kind: {"pool_size": 3, "strides": 2, "padding": "same"}})
            case(f"{pooling}{kind} overlapping", shape, {pooling + kind: {"pool_size": 3, "strides": 1}})
        for pooling in ("GlobalMaxPooling", "GlobalAveragePooling"):
            case(f"{pooling}{kind}", shape, {pooling + kind: {}})
            case(f"{pooling}{kind} keepdims", shape, {f"Conv{kind}": {"filters": 3, "kernel_size": 2}},
                 {pooling + kind: {"keepdims": True}})


def normalizations():
    for rank, shape in enumerate(([6], [5, 6], [4, 5, 6], [3, 4, 5, 6]), 1):
        case(f"BatchNormalization {rank}", shape, "BatchNormalization")
        case(f"BatchNormalization {rank} bare", shape, {"BatchNormalization": {"center": False, "scale": False, "epsilon": 0.1}})
        case(f"LayerNormalization {rank}", shape, "LayerNormalization")
        if rank > 1:
            case(f"GroupNormalization {rank}", shape, {"GroupNormalization": {"groups": 3}})
    case("RMSNormalization", [5, 6], "RMSNormalization")
    case("RMSNormalization axes", [4, 5, 6], {"RMSNormalization": {"axis": [2, 3], "epsilon": 0.01}})
    case("LayerNormalization axes", [4, 5, 6], {"LayerNormalization": {"axis": [2, 3], "center": False}})
    case("LayerNormalization bare", [5, 6], {"LayerNormalization": {"center": False, "scale": False}})
    case("GroupNormalization of channels", [4, 4, 6], {"GroupNormalization": {"groups": -1}})
    case("LocalResponseNormalization", [4, 5, 9], {"LocalResponseNormalization": {"depth_radius": 2, "alpha": 0.3, "bias": 2, "beta": 0.75}})
    case("Normalization", [4, 3], {"Normalization": {"mean": [0.1, -0.2, 0.3], "variance": [1.5, 0.5, 2.0]}})
    case("Normalization inverted", [4, 3], {"Normalization": {"mean": [0.1, -0.2, 0.3], "variance": [1.5, 0.5, 2.0], "invert": True}})
    case("Normalization of weights", [4, 3], "Normalization")
    case("Rescaling", [4, 3], {"Rescaling": {"scale": 0.5, "offset": -1}})
    case("Rescaling of channels", [4, 3], {"Rescaling": {"scale": [0.5, 2, -1], "offset": [0, 1, 2]}})
    case("LayerScale", [4, 3], {"LayerScale": {"init_values": 0.5, "projection_dim": 3}})
    case("StochasticDepth", [4, 3], {"StochasticDepth": 0.4}, {"Dense": 2})
    for name in ("Dropout", "SpatialDropout1D", "GaussianDropout"):
        case(name, [4, 3], {name: {"rate": 0.4}}, {"Dense": 2})
    case("SpatialDropout2D", [4, 3, 2], {"SpatialDropout2D": 0.4}, {"Dense": 2})
    case("SpatialDropout3D", [4, 3, 2, 2], {"SpatialDropout3D": 0.4}, {"Dense": 2})
    case("GaussianNoise", [4, 3], {"GaussianNoise": 0.3})


def shapes():
    case("Dense", [6], {"Dense": {"units": 4, "activation": "tanh"}}, {"Dense": {"units": 3, "use_bias": False}})
    case("Dense of steps", [5, 6], {"Dense": {"units": 4, "activation": "relu"}}, {"Dense": {"units": 3, "use_bias": False}})
    case("Flatten", [3, 4, 2], {"Conv2D": {"filters": 3, "kernel_size": 2}}, "Flatten")
    case("Reshape", [3, 4, 2], {"Reshape": [2, -1]})
    case("Permute", [3, 4, 2], {"Permute": [3, 1, 2]})
    case("RepeatVector", [5], {"RepeatVector": 3})
    case("Masking", [6, 3], {"Masking": 0.0}, {"Dense": 2})
    ends = {"1D": ([7, 3], [1, 2]), "2D": ([7, 6, 3], [[1, 2], [0, 3]]), "3D": ([7, 6, 5, 3], [[1, 2], [0, 3], [2, 1]])}
    for kind, (shape, amounts) in ends.items():
        for convolved in (False, True):
            before = [{f"Conv{kind}": {"filters": 3, "kernel_size": 1}}] if convolved else []
            word = " of channels first" if convolved else ""
            case(f"ZeroPadding{kind}{word}", shape, *before, {f"ZeroPadding{kind}": {"padding": amounts}}, *before)
            case(f"Cropping{kind}{word}", shape, *before, {f"Cropping{kind}": {"cropping": amounts}}, *before)
        case(f"UpSampling{kind}", shape, {f"UpSampling{kind}": {"size": 3}})
    case("UpSampling2D bilinear", [4, 5, 3], {"UpSampling2D": {"size": [2, 3], "interpolation": "bilinear"}})
    for method in ("nearest", "bilinear"):
        case(f"Resizing {method}", [7, 6, 3], {"Resizing": {"height": 5, "width": 11, "interpolation": method}})


def merges():
    case("CustomScaleLayer", [4, 5], {"Input": {"shape": [4, 5], "name": "in"}}, *two([4, 5], {"CustomScaleLayer": {"scale": 0.2}}))
    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        case(name, [4, 5], {"Input": {"shape": [4, 5], "name": "in"}}, *two([4, 5], {name: {}}))
        conv = [{"Conv2D": {"filters": 3, "kernel_size": 3, "padding": "same", "name": side, "inputs": "in"}} for side in ("left", "right")]
        case(f"{name} of images", [4, 5, 3], {"Input": {"shape": [4, 5, 3], "name": "in"}}, *two([3], {name: {}}, *conv),
             {"Conv2D": {"filters": 2, "kernel_size": 2}})
    for name in ("Multiply", "Maximum", "Minimum"):
        for both in (True, False):
            sides = [{"Embedding": {"input_dim": 7, "output_dim": 4, "mask_zero": zero, "name": side, "inputs": "in"}}
                     for side, zero in (("left", True), ("right", both))]
            case(f"{name} masked {both}", [5], {"Input": {"shape": [5], "dtype": "int32", "name": "in"}}, *two([5], {name: {}}, *sides),
                 dtype="int32")
        case(f"{name} of two masks", [6, 4], {"Input": {"shape": [6, 4], "name": "in"}},
             {"Masking": {"name": "left", "inputs": "in"}}, {"Conv1D": {"filters": 4, "kernel_size": 1, "name": "conv", "inputs": "in"}},
             {"ReLU": {"name": "relu", "inputs": "conv"}}, {"Masking": {"name": "right", "inputs": "relu"}},
             {name: {"inputs": ["left", "right"]}})
    case("Multiply stretched", [4, 5, 3], {"Input": {"shape": [4, 5, 3], "name": "in"}},
         {"Conv2D": {"filters": 6, "kernel_size": 3, "name": "conv", "inputs": "in"}},
         {"GlobalAveragePooling2D": {"name": "mean", "inputs": "conv"}}, {"Dense": {"units": 6, "activation": "sigmoid", "name": "gate"}},
         {"Reshape": {"target_shape": [1, 1, 6], "name": "one"}}, {"Multiply": {"inputs": ["conv", "one"]}},
         {"Conv2D": {"filters": 2, "kernel_size": 2}})
    case("Add of other ranks", [4, 5], {"Input": {"shape": [4, 5], "name": "in"}},
         {"GlobalMaxPooling1D": {"name": "one", "inputs": "in"}}, {"Add": {"inputs": ["in", "one"]}})
    case("Concatenate along an axis", [4, 5, 3], {"Input": {"shape": [4, 5, 3], "name": "in"}},
         {"Conv2D": {"filters": 3, "kernel_size": 1, "name": "left", "inputs": "in"}},
         {"Conv2D": {"filters": 3, "kernel_size": 1, "name": "right", "inputs": "in"}},
         {"Concatenate": {"axis": 2, "inputs": ["left", "right"]}})
    for axes, normalize in ((2, False), (1, True), ([1, 1], False), (-1, True)):
        case(f"Dot {axes} {normalize}", [4, 4], {"Input": {"shape": [4, 4], "name": "in"}},
             *two([4, 4], {"Dot": {"axes": axes, "normalize": normalize}}))
    case("Dot of vectors", [5], {"Input": {"shape": [5], "name": "in"}}, *two([5], {"Dot": {"axes": 1, "normalize": True}}))


def recurrent():
    bias = {"bias_initializer": {"RandomUniform": {"minval": -1, "maxval": 1}}}
    for kind, others in CELLS.items():
        variants = {"last": {}, "all": {"return_sequences": True}, "backwards": {"go_backwards": True, "return_sequences": True},
                    "last backwards": {"go_backwards": True}, "no bias": {"use_bias": False}}
        for activation in ("linear", "relu", "leaky_relu", "elu", "sigmoid", "softsign", "softplus", "hard_sigmoid", "relu6", "selu"):
            variants[activation] = {"activation": activation}
            if others and activation in ("hard_sigmoid", "relu6"):
                variants["recurrent " + activation] = {"recurrent_activation": activation}
        if kind == "GRU":
            variants["reset before"] = {"reset_after": False, "return_sequences": True}
        for name, arguments in variants.items():
            arguments = {"units": 3, **bias, **arguments}
            if not arguments.get("use_bias", True):
                del arguments["bias_initializer"]
            case(f"{kind} {name}", [6, 4], {kind: arguments})
        masked = {"last": {}, "all": {"return_sequences": True}, "backwards": {"go_backwards": True, "return_sequences": True}}
        if kind == "GRU":
            masked["reset before"] = {"reset_after": False}
        for name, arguments in masked.items():
            case(f"{kind} masked {name}", [6], *EMBEDDED, {kind: {"units": 3, **bias, **arguments}}, dtype="int32")
        for sequences in (False, True):
            for mode in ("concat", "sum", "mul", "ave"):
                inner = {kind: {"units": 3, **bias, "return_sequences": sequences}}
                case(f"Bidirectional {kind} {mode} {sequences}", [6, 4], {"Bidirectional": {"layer": inner, "merge_mode": mode}})
            case(f"Bidirectional {kind} masked {sequences}", [6], *EMBEDDED, {"Bidirectional": {"layer": inner}}, dtype="int32")
    case("LSTM from a state", [6, 4], {"Input": {"shape": [6, 4], "name": "in"}},
         {"LSTM": {"units": 3, "return_sequences": True, "return_state": True, "name": "first", "inputs": "in"}},
         {"LSTM": {"units": 3, "name": "second", "return_sequences": True, "inputs": ["first", "first.state_h", "first.state_c"]}})
    case("GRU from a state", [6, 4], {"Input": {"shape": [6, 4], "name": "in"}},
         {"GRU": {"units": 3, "return_sequences": True, "return_state": True, "name": "first", "inputs": "in"}},
         {"GRU": {"units": 3, "name": "second", "inputs": ["first", "first.state_h"]}})
    for name, arguments in {"last": {}, "all": {"return_sequences": True, "padding": "same", "strides": 2},
                            "backwards": {"go_backwards": True, "return_sequences": True}}.items():
        case(f"ConvLSTM2D {name}", [4, 6, 5, 2], {"ConvLSTM2D": {"filters": 3, "kernel_size": 3, **bias, **arguments}})
    case("TimeDistributed Dense", [4, 6], {"TimeDistributed": {"layer": {"Dense": {"units": 3, "activation": "relu"}}}})
    case("TimeDistributed Conv2D", [4, 6, 5, 2], {"TimeDistributed": {"layer": {"Conv2D": {"filters": 3, "kernel_size": 3}}}},
         {"TimeDistributed": {"layer": "Flatten"}})


def attention():
    for name, arguments in {"plain": {}, "causal": {"use_causal_mask": True}, "value_dim": {"value_dim": 5, "output_shape": [7]},
                            "no bias": {"use_bias": False}}.items():
        arguments = {"num_heads": 2, "key_dim": 3, **arguments}
        case(f"MultiHeadAttention {name}", [5, 4], {"MultiHeadAttention": arguments})
        case(f"MultiHeadAttention {name} masked", [5], *EMBEDDED, {"MultiHeadAttention": arguments}, dtype="int32")
        case(f"MultiHeadAttention {name} of two", [5, 4], {"Input": {"shape": [5, 4], "name": "in"}},
             *two([5, 4], {"MultiHeadAttention": arguments}))
    kinds = {"Attention": {"use_scale": True}, "Attention concat": {"use_scale": True, "score_mode": "concat"}, "AdditiveAttention": {}}
    for name, arguments in kinds.items():
        kind = name.split()[0]
        for causal in (False, True):
            words = {**arguments, "use_causal_mask": causal}
            case(f"{name} {causal}", [5, 4], {"Input": {"shape": [5, 4], "name": "in"}}, *two([5, 4], {kind: words}))
            case(f"{name} masked {causal}", [5], {"Input": {"shape": [5], "dtype": "int32", "name": "in"}},
                 {"Embedding": {"input_dim": 7, "output_dim": 4, "mask_zero": True, "name": "left", "inputs": "in"}},
                 {"Embedding": {"input_dim": 7, "output_dim": 4, "mask_zero": True, "name": "right", "inputs": "in"}},
                 {kind: {**words, "inputs": ["left", "right"]}}, dtype="int32")
    case("Embedding", [5], {"Embedding": {"input_dim": 7, "output_dim": 4}}, dtype="int32")
    case("PositionEmbedding", [5, 4], {"PositionEmbedding": 5})
    case("PositionEmbedding shorter", [5, 4], {"PositionEmbedding": 8})
    case("GlobalAveragePooling1D masked", [5], *EMBEDDED, "GlobalAveragePooling1D", dtype="int32")
    case("GlobalAveragePooling1D of Masking", [5, 3], {"Masking": 0.0}, {"GlobalAveragePooling1D": {"keepdims": True}})


for make in (activations, convolutions, normalizations, shapes, merges, recurrent, attention):
    make()
