"""Nearest neighbours by faiss: k-means, an inverted file and OpenBLAS."""

import hashlib

import faiss
import numpy as np


def main():
    random = np.random.default_rng(5)
    points = random.normal(size=(30_000, 64)).astype(np.float32)
    quantiser = faiss.IndexFlatL2(64)
    index = faiss.IndexIVFFlat(quantiser, 64, 100)
    index.train(points[:8000])
    index.add(points)
    index.nprobe = 8
    digest = hashlib.sha256()
    for start in range(0, 10_000, 1000):
        _, found = index.search(points[start : start + 1000], 5)
        digest.update(found[:, 0].tobytes())
    exact = faiss.IndexFlatL2(64)
    exact.add(points)
    _, found = exact.search(points[:1500], 3)
    digest.update(found[:, 0].tobytes())
    print("neighbours", digest.hexdigest())


main()
