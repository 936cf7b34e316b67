"""Gradient-boosted trees by LightGBM, OpenMP on two threads."""

import hashlib

import lightgbm
import numpy as np


def main():
    random = np.random.default_rng(4)
    x = random.normal(size=(20_000, 30))
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(int)
    settings = {
        "objective": "binary", "num_threads": 2, "verbose": -1, "seed": 0, "deterministic": True,
        "force_row_wise": True,
    }  # fmt: skip
    booster = lightgbm.train(settings, lightgbm.Dataset(x, y), num_boost_round=80)
    print("accuracy", float(((booster.predict(x) > 0.5) == y).mean()))
    print("trees", hashlib.sha256(booster.model_to_string().encode()).hexdigest())


main()
