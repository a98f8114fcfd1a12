#!/usr/bin/env python3
"""Computes losses, metrics and SGD steps with ignored labels in double precision, independently of dptrain.

    ignored_labels.py > tests/golden/ignored_labels.json

The model is two Dense layers on 12 samples of 5 positions. Positions with the label 255, all of one sample, are left out
of losses and metrics. Needs only Python; gradients are computed by reverse accumulation over scalars.
"""

import json
import math
import random

SAMPLES, POSITIONS, INPUTS, HIDDEN, IGNORED, EPSILON = 12, 5, 3, 6, 255, 1e-7
MOMENTUM, RATE = 0.5, 0.3
STEPS = [(0, 12), (0, 5), (5, 7), (10, 2), (0, 12)]


class Scalar:
    """A value with its derivatives by the scalars that it was computed from."""

    def __init__(self, value, parents=()):
        self.value, self.parents, self.gradient = value, parents, 0.0

    def __add__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return Scalar(self.value * other.value, ((self, other.value), (other, self.value)))

    def __pow__(self, power):
        return Scalar(self.value**power, ((self, power * self.value ** (power - 1)),))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        return self * (other**-1 if isinstance(other, Scalar) else 1.0 / other)

    def __rtruediv__(self, other):
        return self**-1 * other


def function(value, slope):
    return lambda x: Scalar(value(x.value), ((x, slope(x.value)),))


exp = function(math.exp, math.exp)
log = function(math.log, lambda x: 1 / x)
tanh = function(math.tanh, lambda x: 1 - math.tanh(x) ** 2)


def backward(root):
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((parent, False) for parent, _ in node.parents)
    root.gradient = 1.0
    for node in reversed(order):
        for parent, slope in node.parents:
            parent.gradient += node.gradient * slope


def dense(x, weights, bias):
    units = len(bias)
    return [sum((x[i] * weights[i * units + u] for i in range(len(x))), bias[u]) for u in range(units)]


def softmax(z):
    powers = [exp(x) for x in z]
    whole = sum(powers, Scalar(0.0))
    return [p / whole for p in powers]


def sigmoid(z):
    return [1.0 / (exp(-x) + 1.0) for x in z]


def one_hot(label, units):
    return [float(label)] if units == 1 else [1.0 if c == label else 0.0 for c in range(units)]


# Losses of one position, from probabilities and the row of its label.


def categorical(p, y, smoothing=0.0):
    return sum((log(q) * -(t * (1 - smoothing) + smoothing / len(y)) for q, t in zip(p, y)), Scalar(0.0))


def categorical_focal(p, y):
    return sum(((1.0 - q) ** 2 * log(q) * (-0.25 * t) for q, t in zip(p, y)), Scalar(0.0))


def binary(p, y):
    return sum((log(q) * -t - log(1.0 - q) * (1 - t) for q, t in zip(p, y)), Scalar(0.0)) / len(y)


def binary_focal(p, y):
    entropies = [(log(q) * -t - log(1.0 - q) * (1 - t)) * (q * (1 - t) + (1.0 - q) * t) ** 2 for q, t in zip(p, y)]
    return sum(entropies, Scalar(0.0)) / len(y)


def overlap(pairs):
    """Dice of (prediction, target) pairs."""
    both = sum((p * t for p, t in pairs), Scalar(0.0))
    return 1.0 - both * 2.0 / (sum((p + t for p, t in pairs), Scalar(0.0)) + EPSILON)


def dice_of_sample(rows):
    return overlap([pair for row in rows for pair in zip(*row)])


def dice_of_classes(rows, units=3):
    return sum((overlap([(p[c], y[c]) for p, y in rows]) for c in range(units)), Scalar(0.0)) / units


def dice_of_position(p, y):
    return overlap(list(zip(p, y)))


# Metrics, from lists of (probabilities, row of the label) of the positions that count.


def fraction(part, whole):
    return part / whole if whole else 0.0


def largest(row):
    return row.index(max(row))


def accuracy(rows):
    if len(rows[0][0]) == 1:
        return fraction(sum((p[0] > 0.5) == (y[0] == 1) for p, y in rows), len(rows))
    return fraction(sum(largest(p) == largest(y) for p, y in rows), len(rows))


def mean_io_u(rows, classes=3):
    pairs = [(largest(y), largest(p)) for p, y in rows]
    values = []
    for c in range(classes):
        right = sum(pair == (c, c) for pair in pairs)
        union = sum(pair[0] == c for pair in pairs) + sum(pair[1] == c for pair in pairs) - right
        if union:
            values.append(right / (union + EPSILON))
    return sum(values) / len(values)


def elements(rows, only=None):
    return [(p[c], y[c]) for p, y in rows for c in range(len(p)) if only in (None, c)]


def precision(rows, threshold=0.35, only=1):
    found = [y for p, y in elements(rows, only) if p > threshold]
    return fraction(sum(found), len(found))


def recall(rows, threshold=0.5, only=None):
    wanted = [p for p, y in elements(rows, only) if y == 1]
    return fraction(sum(p > threshold for p in wanted), len(wanted))


def top_two(rows):
    return fraction(sum(sum(q > p[largest(y)] for q in p) < 2 for p, y in rows), len(rows))


def auc(rows, thresholds=(-1e-7, 0.31, 0.37, 0.52, 1 + 1e-7)):
    points = []
    for threshold in thresholds:
        of = elements(rows)
        rates = [fraction(sum(p > threshold for p, y in of if y == side), sum(y == side for _, y in of))
                 for side in (0, 1)]
        points.append(rates)
    return sum((a[0] - b[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:]))


OF_CLASSES = {
    "accuracy": ("accuracy", accuracy),
    "mean_io_u": ("MeanIoU: {num_classes: 3}", mean_io_u),
    "precision": ("Precision: {thresholds: 0.35, class_id: 1}", precision),
    "recall": ("Recall: {thresholds: 0.4}", lambda rows: recall(rows, 0.4)),
    "top_k_categorical_accuracy": ("TopKCategoricalAccuracy: {k: 2}", top_two),
    "auc": ("AUC: {thresholds: [0.31, 0.37, 0.52]}", auc),
}
OF_SIGMOIDS = {
    "binary_accuracy": ("binary_accuracy", accuracy),
    "precision": ("Precision: {thresholds: 0.45}", lambda rows: precision(rows, 0.45, None)),
    "recall": ("recall", recall),
}
OF_DICE = {name: OF_CLASSES[name] for name in ("accuracy", "mean_io_u")}


class Case:
    """A loss with its labels. `per_sample`: the loss is a mean over samples of a function of their counted rows."""

    def __init__(self, name, loss, of_position=None, per_sample=None, units=3, metrics=OF_CLASSES, kinds=("dense",),
                 class_weights=None, sample_weights=False):
        self.name, self.loss, self.units, self.metrics, self.kinds = name, loss, units, metrics, kinds
        self.of_position, self.per_sample, self.class_weights = of_position, per_sample, class_weights
        draw = random.Random(name)
        self.weights = [[draw.uniform(-0.7, 0.7) for _ in range(n)]
                        for n in (INPUTS * HIDDEN, HIDDEN, HIDDEN * units, units)]
        self.labels = [IGNORED if draw.random() < 0.3 else draw.randrange(max(2, units))
                       for _ in range(SAMPLES * POSITIONS)]
        for position in range(POSITIONS):
            self.labels[3 * POSITIONS + position] = IGNORED
        self.sample_weights = [round(draw.uniform(0.5, 2), 2) for _ in range(SAMPLES)] if sample_weights else []

    def predictions(self, weights, features):
        rows = []
        for row in features:
            hidden = [tanh(h) for h in dense(row, weights[0], weights[1])]
            z = dense(hidden, weights[2], weights[3])
            rows.append(sigmoid(z) if self.units == 1 else softmax(z))
        return rows

    def run(self, weights, features, first, count, trains):
        """The loss as a Scalar, and the (probabilities, label) of the positions that count."""
        scalars = [[Scalar(w) for w in array] for array in weights]
        total, counted, logged = Scalar(0.0), 0, []
        for sample in range(first, first + count):
            begin = sample * POSITIONS
            p = self.predictions(scalars, features[begin:begin + POSITIONS])
            rows = [(q, one_hot(label, self.units), label) for q, label in zip(p, self.labels[begin:begin + POSITIONS])
                    if label != IGNORED]
            factor = self.sample_weights[sample] if self.sample_weights else 1.0
            if self.per_sample:
                total += self.per_sample([row[:2] for row in rows]) * factor
            for q, y, label in rows if self.of_position else []:
                weight = self.class_weights[label] if self.class_weights and trains else 1.0
                total += self.of_position(q, y) * (factor * weight)
            counted += len(rows)
            logged += [([x.value for x in q], y) for q, y, _ in rows]
        return scalars, total / (count if self.per_sample else counted + EPSILON), logged

    def logs(self, loss, rows):
        return {"loss": loss, **{name: f(rows) for name, (_, f) in self.metrics.items()}}

    def result(self, features):
        weights = [list(array) for array in self.weights]
        velocity = [[0.0] * len(array) for array in weights]
        steps = []
        for first, count in STEPS:
            scalars, loss, rows = self.run(weights, features, first, count, True)
            steps.append({"first": first, "rows": count, "logs": self.logs(loss.value, rows)})
            backward(loss)
            for w, array in enumerate(scalars):
                for i, scalar in enumerate(array):
                    velocity[w][i] = MOMENTUM * velocity[w][i] - RATE * scalar.gradient
                    weights[w][i] += velocity[w][i]
        halves = [self.run(weights, features, first, SAMPLES // 2, False)[1:] for first in (0, SAMPLES // 2)]
        mean = sum(loss.value for loss, _ in halves) / 2
        return {"name": self.name, "loss": self.loss, "units": self.units, "kinds": self.kinds,
                "metrics": [text for text, _ in self.metrics.values()], "class_weights": self.class_weights or [],
                "sample_weights": self.sample_weights, "labels": self.labels, "before": self.weights, "rate": RATE,
                "steps": steps, "after": weights, "evaluated": self.logs(mean, halves[0][1] + halves[1][1])}


def main():
    draw = random.Random("features")
    features = [[round(draw.uniform(-2, 2), 3) for _ in range(INPUTS)] for _ in range(SAMPLES * POSITIONS)]
    both = ("dense", "classes")
    cases = [
        Case("classes", "SparseCategoricalCrossentropy", categorical, kinds=("classes",)),
        Case("rows", "CategoricalCrossentropy: {label_smoothing: 0.1}", lambda p, y: categorical(p, y, 0.1), kinds=both),
        Case("weighted rows", "CategoricalCrossentropy", categorical, kinds=both, class_weights=[1, 2.5, 0.5]),
        Case("focal", "CategoricalFocalCrossentropy", categorical_focal, kinds=both, sample_weights=True),
        Case("binary", "BinaryCrossentropy", binary, units=1, metrics=OF_SIGMOIDS),
        Case("weighted binary", "BinaryCrossentropy", binary, units=1, metrics=OF_SIGMOIDS, class_weights=[0.5, 2]),
        Case("binary focal", "BinaryFocalCrossentropy", binary_focal, units=1, metrics=OF_SIGMOIDS),
        Case("dice of samples", "Dice: {axis: [1, 2]}", per_sample=dice_of_sample, metrics=OF_DICE),
        Case("dice of classes", "Dice: {axis: [1]}", per_sample=dice_of_classes, metrics=OF_DICE, sample_weights=True),
        Case("dice of positions", "Dice: {axis: [2]}", dice_of_position, metrics=OF_DICE),
    ]
    print(json.dumps({"features": [x for row in features for x in row],
                      "cases": [case.result(features) for case in cases]}))


if __name__ == "__main__":
    main()
