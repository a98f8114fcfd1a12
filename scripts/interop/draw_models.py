"""Draws small Keras models of recurrent, attention, 1D and 3D layers, for random_models.py.

`draw(seed, attempt)` gives a Drawn: a functional model with random weights, arrays for its inputs, and losses. Nothing is drawn that
dptrain refuses by design: docs/reference/layers.md.
"""

import keras
import numpy as np

L = keras.layers
KERAS2 = keras.__version__.startswith("2.")
VOCABULARY = 7
FAMILIES = ("recurrent", "attention", "steps", "volumes", "mixed")


class NoModel(Exception):
    """The draw led to nothing: shapes that a layer does not take, or none of the kind that was asked for."""


class Tensor:
    """A symbolic tensor and the source of its mask, None without one."""

    def __init__(self, value, mask=None):
        self.value, self.mask = value, mask
        self.shape = tuple(value.shape[1:])


class Drawn:
    def __init__(self, model, feeds, losses, draws_noise, weights_only):
        self.model, self.feeds, self.losses = model, feeds, losses
        self.draws_noise = draws_noise  # dropout: a step of training draws other numbers on each side
        self.weights_only = weights_only  # this Keras does not build the model from an .h5: docs/reference/keras-files.md


class Draw:
    def __init__(self, seed, attempt):
        self.random = np.random.default_rng([seed, attempt])
        self.family = FAMILIES[seed % len(FAMILIES)]
        self.inputs, self.feeds, self.pool = [], [], []
        self.samples = self.whole(2, 5)
        self.draws_noise = self.weights_only = False

    def whole(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def pick(self, *choices):
        return choices[self.whole(0, len(choices) - 1)]

    # Sources

    def steps(self, steps=None, plain=False):
        """A sequence: ids that are embedded, or numbers; with a mask or without."""
        steps = steps or self.whole(4, 9)
        name = f"in{len(self.inputs)}"
        if self.chance(0.4):
            self.inputs.append(keras.Input((steps,), dtype="int32", name=name))
            ids = self.random.integers(1, VOCABULARY, (self.samples, steps)).astype(np.int32)
            self.feeds.append(ids * self.valid(steps))
            zero = not plain and self.chance(0.7)
            value = L.Embedding(VOCABULARY, self.whole(2, 6), mask_zero=zero)(self.inputs[-1])
            return Tensor(value, name if zero else None)
        features = self.whole(2, 6)
        self.inputs.append(keras.Input((steps, features), name=name))
        numbers = self.random.standard_normal((self.samples, steps, features)).astype(np.float32)
        if plain or self.chance(0.6):
            self.feeds.append(numbers)
            return Tensor(self.inputs[-1])
        out = np.float32(self.pick(0.0, -1.0))
        self.feeds.append(np.where(self.valid(steps)[..., None], numbers, out).astype(np.float32))
        return Tensor(L.Masking(float(out))(self.inputs[-1]), name)

    def valid(self, steps):
        """Of each sample one step at least: padding behind, before, or anywhere."""
        kind = self.pick("behind", "before", "anywhere")
        lengths = self.random.integers(1, steps + 1, (self.samples, 1))
        places = np.arange(steps)[None, :]
        if kind == "anywhere":
            some = self.random.random((self.samples, steps)) < 0.6
            some[np.arange(self.samples), self.random.integers(0, steps, self.samples)] = True
            return some
        return places < lengths if kind == "behind" else places >= steps - lengths

    def volume(self):
        shape = (self.whole(3, 6), self.whole(3, 6), self.whole(3, 6), self.whole(1, 3))
        self.inputs.append(keras.Input(shape, name=f"in{len(self.inputs)}"))
        self.feeds.append(self.random.standard_normal((self.samples, *shape)).astype(np.float32))
        return Tensor(self.inputs[-1])

    # Arguments

    def extents(self, rank, low, high):
        """One number, or one for each axis."""
        return self.whole(low, high) if self.chance(0.5) else tuple(self.whole(low, high) for _ in range(rank))

    def activation(self):
        return self.pick("linear", "linear", "relu", "tanh", "elu", "gelu", "softplus", "swish", "sigmoid")

    def window(self, rank, shape, causal=False):
        """Kernel, strides, padding and dilation of a convolution: not both of the last."""
        kernel = self.extents(rank, 1, 3)
        args = {"kernel_size": kernel, "padding": self.pick("valid", "same", *(["causal"] if causal else []))}
        if self.chance(0.4):
            args["strides"] = self.whole(2, 3) if self.chance(0.6) else self.extents(rank, 1, 2)
        elif self.chance(0.4):
            args["dilation_rate"] = 2
        if args["padding"] == "valid":
            span = (np.array(kernel) - 1) * args.get("dilation_rate", 1) + 1
            if np.any(span > np.array(shape[:rank])):
                raise NoModel
        return args

    def cell(self, kind=None, **given):
        kind = kind or self.pick("LSTM", "GRU", "SimpleRNN")
        args = {"units": self.whole(1, 5), "use_bias": self.chance(0.8), "go_backwards": self.chance(0.2),
                "return_sequences": self.chance(0.6),
                "activation": self.pick("tanh", "tanh", "sigmoid", "relu", "linear", "softsign")}
        if kind != "SimpleRNN":
            args["recurrent_activation"] = self.pick("sigmoid", "sigmoid", "tanh", *([] if KERAS2 else ["hard_sigmoid"]))
        if kind == "LSTM":
            args["unit_forget_bias"] = self.chance(0.5)
        if kind == "GRU":
            args["reset_after"] = self.chance(0.5)
        if self.chance(0.1):
            args["dropout"] = 0.3
            self.draws_noise = True
        return getattr(L, kind)(**{**args, **given})

    # Layers over steps

    def recurrent(self, x):
        layer = self.cell()
        return Tensor(layer(x.value), x.mask if layer.return_sequences else None)

    def bidirectional(self, x):
        inner = self.cell(go_backwards=False)
        layer = L.Bidirectional(inner, merge_mode=self.pick("concat", "sum", "mul", "ave"))
        return Tensor(layer(x.value), x.mask if inner.return_sequences else None)

    def decoder(self, x):
        """States of one into another's initial state. In Keras 3 the second does not use its input's mask."""
        kind, units = self.pick("LSTM", "GRU", "SimpleRNN"), self.whole(1, 4)
        y = self.steps() if self.chance(0.5) else x
        self.weights_only = self.weights_only or KERAS2
        encoder = self.cell(kind, units=units, return_state=True)
        decoder = self.cell(kind, units=units)
        if self.chance(0.3):
            encoder = L.Bidirectional(self.cell(kind, units=units, return_state=True, go_backwards=False))
            decoder = L.Bidirectional(self.cell(kind, units=units, go_backwards=False))
        output, *states = encoder(x.value)
        if self.chance(0.3) and len(output.shape) == 2:
            self.pool.append(Tensor(output))
        steps = isinstance(decoder, L.Bidirectional) or decoder.return_sequences
        if y.mask and steps:  # its output has a mask, of the loss, too, and dptrain's has none
            raise NoModel
        return Tensor(decoder(y.value, initial_state=states[0] if len(states) == 1 else states))

    def conv1d(self, x):
        groups = 2 if x.shape[-1] % 2 == 0 and self.chance(0.15) else 1
        args = self.window(1, x.shape, causal=True)
        return Tensor(L.Conv1D(groups * self.whole(1, 3), groups=groups, activation=self.activation(),
                               use_bias=self.chance(0.8), **args)(x.value))

    def separable_conv1d(self, x):
        args = self.window(1, x.shape)
        return Tensor(L.SeparableConv1D(self.whole(1, 5), depth_multiplier=self.whole(1, 2), activation=self.activation(),
                                        use_bias=self.chance(0.8), **args)(x.value))

    def depthwise_conv1d(self, x):
        args = self.window(1, x.shape)
        return Tensor(L.DepthwiseConv1D(depth_multiplier=self.whole(1, 2), activation=self.activation(),
                                        use_bias=self.chance(0.8), **args)(x.value))

    def transposed(self, x, rank, kind):
        strides = self.whole(1, 3)
        args = {"kernel_size": self.extents(rank, 1, 3), "strides": strides, "padding": self.pick("valid", "same")}
        if strides > 1 and self.chance(0.3):
            args["output_padding"] = self.whole(0, strides - 1)
        return Tensor(kind(self.whole(1, 3), activation=self.activation(), use_bias=self.chance(0.8), **args)(x.value))

    def conv1d_transpose(self, x):
        return self.transposed(x, 1, L.Conv1DTranspose)

    def pooled(self, x, rank, kinds):
        pool = self.extents(rank, 1, 3)
        args = {"pool_size": pool, "padding": self.pick("valid", "same")}
        if self.chance(0.4):
            args["strides"] = self.extents(rank, 1, 2)
        if args["padding"] == "valid" and np.any(np.array(pool) > np.array(x.shape[:rank])):
            raise NoModel
        return Tensor(self.pick(*kinds)(**args)(x.value))

    def pooling1d(self, x):
        return self.pooled(x, 1, (L.MaxPooling1D, L.AveragePooling1D))

    def sides(self, rank):
        if rank == 1:
            return self.whole(0, 2) if self.chance(0.5) else (self.whole(0, 2), self.whole(0, 2))
        form = self.pick("one", "axes", "all")
        if form == "one":
            return self.whole(0, 1)
        axes = tuple((self.whole(0, 2), self.whole(0, 1)) for _ in range(rank))
        return axes if form == "all" else tuple(a for a, _ in axes)

    def moved(self, x, rank):
        kind = self.pick("ZeroPadding", "Cropping", "UpSampling")
        if kind == "UpSampling":
            size = self.whole(1, 2) if rank == 1 else self.extents(rank, 1, 2)
            return Tensor(getattr(L, f"{kind}{rank}D")(size)(x.value))
        sides = self.sides(rank)
        if kind == "Cropping" and min(x.shape[:rank]) < 5:
            raise NoModel
        return Tensor(getattr(L, f"{kind}{rank}D")(sides)(x.value))

    def moved1d(self, x):
        return self.moved(x, 1)

    def dense(self, x):
        return Tensor(L.Dense(self.whole(1, 6), activation=self.activation(), use_bias=self.chance(0.8))(x.value), x.mask)

    def elementwise(self, x):
        kind = self.pick("activation", "relu", "leaky", "norm", "dropout")
        if kind == "activation":
            return Tensor(L.Activation(self.activation())(x.value), x.mask)
        if kind == "relu":
            return Tensor(L.ReLU(negative_slope=self.pick(0.0, 0.25))(x.value), x.mask)
        if kind == "leaky":
            return Tensor(L.LeakyReLU()(x.value), x.mask)
        if kind == "dropout":
            if not self.chance(0.3):
                raise NoModel
            self.draws_noise = True
            return Tensor((L.SpatialDropout1D if len(x.shape) == 2 and self.chance(0.5) else L.Dropout)(0.4)(x.value), x.mask)
        return self.layer_normalization(x)

    def layer_normalization(self, x):
        axis = self.pick(-1, -1, [-2, -1]) if len(x.shape) > 1 else -1
        self.weights_only = self.weights_only or axis != -1
        if np.prod(x.shape[-1:] if axis == -1 else x.shape[-2:]) < 3:  # of two numbers only the sign is left
            raise NoModel
        return Tensor(L.LayerNormalization(axis=axis, epsilon=1e-3, center=self.chance(0.8), scale=self.chance(0.8))(x.value), x.mask)

    def batch_normalization(self, x):
        if x.mask or self.chance(0.5) or (KERAS2 and len(x.shape) < 3):
            raise NoModel  # Keras 2 corrects the moving variance where images or volumes come in, not here
        return Tensor(L.BatchNormalization(momentum=0.9, epsilon=1e-2)(x.value))

    def multi_head_attention(self, x):
        self.weights_only = self.weights_only or KERAS2
        layer = L.MultiHeadAttention(self.whole(1, 3), self.whole(1, 4), value_dim=self.pick(None, 3),
                                     use_bias=self.chance(0.8), output_shape=self.pick(None, None, 5))
        value, key = (x, None) if self.chance(0.5) else (self.other(x), None)
        if value is not x and self.chance(0.4):
            key = Tensor(L.Dense(self.whole(2, 5))(value.value), value.mask)
        call = {"use_causal_mask": True} if self.chance(0.4) else {}
        if key is not None:
            call["key"] = self.read_alone(key).value
        self.sees_some(x.mask or (value.mask and call))
        query = self.read_alone(x)
        return Tensor(layer(query.value, query.value if value is x else self.read_alone(value).value, **call), x.mask)

    def read_alone(self, x):
        """Keras 3.8 and later remove the mask of what MultiHeadAttention reads: here no other layer reads it."""
        return Tensor(L.Rescaling(1.0)(x.value), x.mask) if x.mask and not KERAS2 else x

    def attention(self, x):
        value = x if self.chance(0.4) else self.other(x)
        if value.shape[-1] != x.shape[-1]:
            value = Tensor(L.Dense(x.shape[-1])(value.value), value.mask)
        inputs = [x.value, value.value]
        if self.chance(0.3):
            inputs.append(L.Dense(x.shape[-1])(value.value))
        if self.chance(0.4):
            layer = L.AdditiveAttention(use_scale=self.chance(0.7))
        else:
            layer = L.Attention(use_scale=self.chance(0.5), score_mode=self.pick("dot", "concat"))
        call = {"use_causal_mask": True} if self.chance(0.3) else {}
        self.sees_some(value.mask and call)
        return Tensor(layer(inputs, **call), x.mask)

    def sees_some(self, may_not):
        """A query that sees no key has gradients in Keras 2: what is left of its scores beside -1e9, as rounding has it."""
        if KERAS2 and may_not:
            raise NoModel

    def dot(self, x):
        """Of two sequences: over the features each step with each."""
        y = x if self.chance(0.3) else self.other(x)
        if y.shape[-1] != x.shape[-1]:
            y = Tensor(L.Dense(x.shape[-1])(y.value), y.mask)
        return Tensor(L.Dot(axes=self.pick(2, -1), normalize=self.chance(0.3))([x.value, y.value]))

    def other(self, x):
        """Another sequence: one that is there, or a new input."""
        there = [t for t in self.pool if len(t.shape) == 2 and t is not x]
        return self.pick(*there) if there and self.chance(0.6) else self.steps()

    def residual(self, x):
        inner = self.pick("dense", "conv", "attention", "recurrent") if len(x.shape) == 2 else "dense"
        if inner == "conv" and not x.mask:
            y = L.Conv1D(x.shape[-1], 3, padding=self.pick("same", "causal"), activation="tanh")(x.value)
        elif inner == "attention":
            self.weights_only = self.weights_only or KERAS2
            self.sees_some(x.mask)
            query = self.read_alone(x)
            y = L.MultiHeadAttention(2, 3)(query.value, query.value)
        elif inner == "recurrent":
            y = self.cell(units=x.shape[-1], return_sequences=True)(x.value)
        else:
            y = L.Dense(x.shape[-1], activation="tanh")(x.value)
        kinds = [L.Add, L.Add, L.Add, L.Subtract, L.Average]
        kind = self.pick(*kinds, *([] if x.mask and KERAS2 else [L.Multiply, L.Maximum, L.Minimum]))
        return Tensor(kind()([x.value, y]), x.mask)

    def concatenated(self, x):
        fits = [t for t in self.pool if t is not x and len(t.shape) == len(x.shape) == 2 and t.shape[0] == x.shape[0]
                and t.mask == x.mask]
        if fits:
            return Tensor(L.Concatenate()([x.value, self.pick(*fits).value]), x.mask)
        along = [t for t in self.pool if t is not x and len(t.shape) == 2 == len(x.shape) and t.shape[1] == x.shape[1]
                 and not t.mask and not x.mask]
        if not along:
            raise NoModel
        return Tensor(L.Concatenate(axis=1)([x.value, self.pick(*along).value]))

    def turned(self, x):
        if len(x.shape) == 2:
            return Tensor(L.Permute((2, 1))(x.value)) if self.chance(0.5) else Tensor(L.Reshape((-1, 1))(x.value))
        return Tensor(L.Permute((2, 1, 3, 4)[:len(x.shape)])(x.value))

    def ended(self, x):
        """A sequence or a volume as one vector."""
        rank = len(x.shape) - 1
        pooling = getattr(L, f"Global{self.pick('Average', 'Max')}Pooling{rank}D")
        if rank == 2:
            return Tensor(L.Flatten()(x.value))
        if rank == 1 and self.chance(0.4):
            return Tensor(self.cell(return_sequences=False)(x.value))
        return Tensor(L.Flatten()(x.value) if self.chance(0.2) else pooling()(x.value))

    # Masks that layers do not pass on by themselves

    def operation(self, x):
        """Arithmetic and functions of Keras 3, which neither use nor pass masks."""
        if KERAS2:
            raise NoModel
        self.weights_only = True  # Keras writes operations into an .h5, but does not open it
        kind = self.pick("scaled", "shifted", "relu", "tanh", "sum", "product", "maximum", "joined", "slice", "step")
        if kind in ("slice", "step") and (len(x.shape) != 2 or x.shape[0] < 3):
            raise NoModel
        if kind == "scaled":
            return Tensor(x.value * self.pick(2.0, -0.5))
        if kind == "shifted":
            return Tensor(self.pick(1.0, 3.0) - x.value)
        if kind == "slice":
            first = self.whole(0, 1)
            return Tensor(x.value[:, first:self.whole(first + 1, x.shape[0])])
        if kind == "step":
            return Tensor(x.value[:, self.pick(0, -1)])
        if kind in ("relu", "tanh"):
            return Tensor(getattr(keras.ops, kind)(x.value))
        y = L.Dense(x.shape[-1], activation="tanh")(x.value)
        two = {"sum": lambda: x.value + y, "product": lambda: x.value * y, "maximum": lambda: keras.ops.maximum(x.value, y),
               "joined": lambda: keras.ops.concatenate([x.value, y], axis=-1)}
        return Tensor(two[kind]())

    def given_mask(self, x):
        """A layer that is called with the mask of another sequence of as many steps."""
        mask = getattr(x.value, "_keras_mask", None)
        if KERAS2 or len(x.shape) != 2 or mask is None:
            raise NoModel
        self.weights_only = True
        y = self.steps(x.shape[0])
        if self.chance(0.4):
            return Tensor(L.GlobalAveragePooling1D()(y.value, mask=mask))
        layer = self.cell()
        return Tensor(layer(y.value, mask=mask), x.mask if layer.return_sequences else None)

    def partly_masked(self, x):
        """A merge of a sequence with a mask and one without: each Keras has a rule of its own."""
        if len(x.shape) != 2 or x.mask is None:
            raise NoModel
        y = self.steps(x.shape[0], plain=True)
        y = L.Dense(x.shape[-1])(y.value)
        kind = self.pick(L.Add, L.Subtract, L.Average, L.Multiply, L.Maximum, L.Minimum, L.Concatenate)
        return Tensor(kind()([x.value, y]), x.mask if KERAS2 else None)

    # Layers over volumes

    def conv3d(self, x):
        args = self.window(3, x.shape)
        if args["padding"] == "same" and np.any(np.array(args.get("strides", 1)) > np.array(args["kernel_size"])):
            raise NoModel  # TensorFlow on a CPU starts one value late: docs/reference/numerics.md
        return Tensor(L.Conv3D(self.whole(1, 3), activation=self.activation(), use_bias=self.chance(0.8), **args)(x.value))

    def conv3d_transpose(self, x):
        return self.transposed(x, 3, L.Conv3DTranspose)

    def pooling3d(self, x):
        return self.pooled(x, 3, (L.MaxPooling3D, L.AveragePooling3D))

    def moved3d(self, x):
        return self.moved(x, 3)

    def conv_lstm2d(self, x):
        args = self.window(2, x.shape[1:])
        gates = ["sigmoid", "tanh", *([] if KERAS2 else ["hard_sigmoid"])]
        return Tensor(L.ConvLSTM2D(self.whole(1, 3), activation=self.pick("tanh", "tanh", "sigmoid", "softsign"),
                                   recurrent_activation=self.pick(*gates), use_bias=self.chance(0.8),
                                   unit_forget_bias=self.chance(0.5), return_sequences=self.chance(0.6),
                                   go_backwards=self.chance(0.2), **args)(x.value))

    def time_distributed(self, x):
        """A layer applied to every step: of numbers, of a sequence or of an image, which a volume has for each of its depths."""
        def window(rank):
            return {"activation": self.activation(), **self.window(rank, x.shape[1:])}

        if len(x.shape) == 2:
            inner = self.pick(L.Dense(self.whole(1, 5), activation=self.activation()), L.ReLU(),
                              L.LayerNormalization(epsilon=1e-2), *([] if x.mask else [L.Reshape((x.shape[1], 1)), L.RepeatVector(2)]))
        elif len(x.shape) == 3:
            inner = self.pick(L.Conv1D(self.whole(1, 3), **window(1)), L.MaxPooling1D(2, padding="same"), L.Flatten(),
                              L.Dense(self.whole(1, 4)), L.GlobalAveragePooling1D(), L.GlobalMaxPooling1D(),
                              self.cell(), L.Bidirectional(self.cell(go_backwards=False)), L.UpSampling1D(2))
        else:
            inner = self.pick(L.Conv2D(self.whole(1, 3), **window(2)), L.DepthwiseConv2D(2, padding="same"), L.Flatten(),
                              L.SeparableConv2D(self.whole(1, 3), 2, padding="same"), L.MaxPooling2D(2, padding="same"),
                              L.AveragePooling2D(self.whole(2, 3), padding="same"), L.GlobalAveragePooling2D(),
                              L.GlobalMaxPooling2D(), L.Dense(self.whole(1, 4)), L.Conv2DTranspose(2, 2, strides=2),
                              L.TimeDistributed(L.Conv1D(2, 2, padding="same")), L.TimeDistributed(L.Flatten()))
        return Tensor(L.TimeDistributed(inner)(x.value), x.mask)

    def frames(self, x):
        return Tensor(L.Reshape((x.shape[0], int(np.prod(x.shape[1:]))))(x.value))

    # Models

    OVER_STEPS = {
        "recurrent": "recurrent recurrent bidirectional decoder dense elementwise residual concatenated time_distributed "
                     "operation given_mask partly_masked",
        "attention": "multi_head_attention attention attention dot dense elementwise residual layer_normalization "
                     "operation partly_masked",
        "steps": "conv1d conv1d separable_conv1d depthwise_conv1d conv1d_transpose pooling1d moved1d dense elementwise turned "
                 "batch_normalization residual",
    }
    OVER_VOLUMES = ("conv3d conv3d conv3d_transpose pooling3d moved3d dense elementwise turned batch_normalization frames time_distributed "
                    "time_distributed conv_lstm2d conv_lstm2d")

    def layers(self, x):
        if len(x.shape) == 1:
            return "dense elementwise"
        if len(x.shape) == 3:
            return "time_distributed dense elementwise"
        if len(x.shape) == 4:
            return self.OVER_VOLUMES
        return self.OVER_STEPS.get(self.family) or " ".join(self.OVER_STEPS.values())

    def grown(self, x, layers):
        for _ in range(layers):
            y = getattr(self, self.pick(*self.layers(x).split()))(x)
            if min(y.shape) < 1 or np.prod(y.shape) > 3000:
                raise NoModel
            self.pool.append(y)
            x = y
        return x

    def model(self):
        source = self.volume() if self.family == "volumes" else self.steps()
        self.pool.append(source)
        x = self.grown(source, self.whole(1, 5))
        if len(x.shape) > 1 and self.chance(0.4):
            x = self.grown(self.ended(x), self.whole(0, 1))
        if len(x.shape) == 1 and self.chance(0.15):
            x = self.grown(Tensor(L.RepeatVector(self.whole(2, 4))(x.value)), 1)
        head = self.chance(0.5)
        if head:
            x = Tensor(L.Dense(self.whole(2, 4))(x.value), x.mask)
        outputs = [x]
        if self.chance(0.15) and len(self.pool) > 2:
            outputs = [Tensor(L.Dense(2, name=f"out{i}")(t.value), t.mask) for i, t in enumerate([x, self.pool[-2]])]
        if any(t.value is value for t in outputs for value in self.inputs):
            raise NoModel
        values = [t.value for t in outputs] if len(outputs) > 1 else x.value
        read = str([layer.get("inbound_nodes") for layer in keras.Model(self.inputs, values).get_config()["layers"]])
        used = [i for i, tensor in enumerate(self.inputs) if f"'{tensor.name}'" in read]
        model = keras.Model([self.inputs[i] for i in used], values)
        self.feeds = [self.feeds[i] for i in used]
        # Of what ends in a sigmoid Keras computes the crossentropy of classes from the sigmoid's input.
        logits = ["categorical_crossentropy"] if head or len(outputs) > 1 else []
        losses = [self.pick("mse", "mse", "mae", *logits) for _ in outputs]
        return Drawn(model, self.feeds, losses, self.draws_noise, self.weights_only)

    def weights(self, model):
        """Random ones, so that numbers stay near 1 from layer to layer, biases too."""
        values = []
        for variable in model.weights:
            name = getattr(variable, "path", variable.name).split("/")[-1].split(":")[0]
            shape = tuple(variable.shape)
            if name in ("gamma", "moving_variance", "scale", "concat_score_weight", "attention_v"):
                value = self.random.uniform(0.7, 1.3, shape)
            elif "bias" in name or name in ("beta", "moving_mean"):
                value = self.random.uniform(-0.3, 0.3, shape)
            elif name == "embeddings":
                value = self.random.standard_normal(shape)
            else:
                fan = np.prod(shape[:-1]) if "depthwise" not in name else np.prod(shape[:-2])
                value = self.random.standard_normal(shape) / np.sqrt(max(fan, 1))
            values.append(np.asarray(value, np.float32))
        model.set_weights(values)


def draw(seed, attempt):
    """A model; NoModel, or what Keras throws, where nothing came of this attempt."""
    keras.backend.clear_session()
    one = Draw(seed, attempt)
    drawn = one.model()
    one.weights(drawn.model)
    return drawn
