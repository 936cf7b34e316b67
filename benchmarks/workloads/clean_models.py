"""Models as their authors mean them to be run: what insights should leave alone.

Usage: python clean_models.py gpt2|bert|vit|resnet [--steps N]
Built from a configuration, with random weights: nothing is fetched. gpt2 and resnet train, bert and vit infer.
"""

from __future__ import annotations

import argparse

import torch
import transformers


def train(model: torch.nn.Module, batch: dict[str, torch.Tensor], steps: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()


def infer(model: torch.nn.Module, batch: dict[str, torch.Tensor], steps: int) -> None:
    model.eval()
    with torch.inference_mode():
        for _ in range(steps):
            model(**batch)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["gpt2", "bert", "vit", "resnet"])
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    torch.manual_seed(0)
    words = torch.randint(0, 1000, (8, 128))
    pictures = torch.randn(8, 3, 96, 96)
    if options.name == "gpt2":
        config = transformers.GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1000, n_positions=128)
        train(transformers.GPT2LMHeadModel(config), {"input_ids": words, "labels": words}, options.steps)
    elif options.name == "bert":
        config = transformers.BertConfig(
            num_hidden_layers=4, hidden_size=256, num_attention_heads=4, vocab_size=1000
        )
        infer(transformers.BertModel(config), {"input_ids": words}, options.steps)
    elif options.name == "vit":
        config = transformers.ViTConfig(
            num_hidden_layers=4, hidden_size=256, num_attention_heads=4, image_size=96
        )
        infer(transformers.ViTModel(config), {"pixel_values": pictures}, options.steps)
    else:
        config = transformers.ResNetConfig(
            embedding_size=32, hidden_sizes=[32, 64, 128, 256], depths=[2, 2, 2, 2]
        )
        config.num_labels = 10
        model = transformers.ResNetForImageClassification(config)
        train(model, {"pixel_values": pictures, "labels": torch.randint(0, 10, (8,))}, options.steps)
    print(f"{options.name}: {options.steps} steps")


if __name__ == "__main__":
    main()
