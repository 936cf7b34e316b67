"""OpenCV's filters and feature finder on its own thread pool."""

import hashlib

import cv2
import numpy as np


def main():
    cv2.setNumThreads(2)
    image = np.random.default_rng(8).integers(0, 255, (720, 1280, 3), dtype=np.uint8)
    digest = hashlib.sha256()
    for turn in range(12):
        image = cv2.GaussianBlur(image, (9, 9), 2)
        image = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2HSV), cv2.COLOR_HSV2BGR)
        edges = cv2.Canny(image, 20, 60)
        small = cv2.resize(image, (640, 360), interpolation=cv2.INTER_AREA)
        calm = cv2.medianBlur(small, 5)
        image = cv2.resize(cv2.add(small, calm), (1280, 720), interpolation=cv2.INTER_LINEAR)
        image = cv2.add(image, np.full_like(image, turn))
        digest.update(edges.tobytes() + image.tobytes())
    print("images", digest.hexdigest())


main()
