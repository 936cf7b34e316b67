"""A byte-pair tokenizer trained and used in memory: Rust code on rayon's threads."""

import hashlib
import os
import random

os.environ["TOKENIZERS_PARALLELISM"] = "true"

from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def main():
    source = random.Random(9)
    words = ["".join(source.choices("abcdefghij", k=source.randint(2, 9))) for _ in range(3000)]
    text = [" ".join(source.choices(words, k=40)) for _ in range(6000)]
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=["[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(text, trainer)
    encoded = tokenizer.encode_batch(text * 4)
    lengths = [len(one.ids) for one in encoded]
    digest = hashlib.sha256(str(lengths).encode())
    print("tokens", sum(lengths), digest.hexdigest())


main()
