"""Gradient-boosted trees by xgboost, OpenMP on two threads."""

import hashlib

import numpy as np
import xgboost


def main():
    random = np.random.default_rng(3)
    x = random.normal(size=(20_000, 30)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(np.float32)
    settings = {
        "nthread": 2,
        "max_depth": 6,
        "objective": "binary:logistic",
        "seed": 0,
        "tree_method": "hist",
    }
    booster = xgboost.train(settings, xgboost.DMatrix(x, y), num_boost_round=60)
    predicted = booster.predict(xgboost.DMatrix(x))
    print("accuracy", float(((predicted > 0.5) == y).mean()))
    print("trees", hashlib.sha256("".join(booster.get_dump()).encode()).hexdigest())


main()
