"""A forest searched over by scikit-learn with joblib's loky processes."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV


def main():
    random = np.random.default_rng(10)
    x = random.normal(size=(1200, 12))
    y = (x[:, 0] + x[:, 1] ** 2 > 0.8).astype(int)
    search = GridSearchCV(
        RandomForestClassifier(random_state=0, n_jobs=1),
        {"max_depth": [3, 6], "n_estimators": [30, 60]},
        cv=3,
        n_jobs=2,
    )
    search.fit(x, y)
    print(search.best_params_, [round(float(s), 12) for s in search.cv_results_["mean_test_score"]])


if __name__ == "__main__":
    main()
