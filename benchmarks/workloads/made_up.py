"""Data for public programs that would download theirs: characters for nanoGPT, sentences for a language model."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

CHARACTERS, WORDS = 65, 2000


def characters(folder: Path) -> Path:
    """train.bin, val.bin and meta.pkl as nanoGPT's shakespeare_char has them."""
    dice = np.random.default_rng(0)
    for name, count in (("train", 400_000), ("val", 40_000)):
        dice.integers(0, CHARACTERS, count).astype(np.uint16).tofile(folder / f"{name}.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": CHARACTERS}))
    return folder


def sentences(folder: Path) -> Path:
    """train.txt, valid.txt and test.txt; words are as unevenly frequent as in a language."""
    folder.mkdir(exist_ok=True)
    dice = np.random.default_rng(0)
    words = [f"w{i}" for i in range(WORDS)]
    share = 1 / np.arange(1, WORDS + 1)
    for name, lines in (("train", 2100), ("valid", 40), ("test", 40)):
        text = "\n".join(" ".join(dice.choice(words, 20, p=share / share.sum())) for _ in range(lines))
        (folder / f"{name}.txt").write_text(text)
    return folder
