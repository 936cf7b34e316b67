"""Steps of Hugging Face's Trainer and of Lightning, written as their documentation shows: counted exactly.

What the library itself says it did (global_step) is the truth.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.analyze.steps.program import step_reports
from sonde.store.reader import open_recording
from tests.environments import python_of

ROOT = Path(__file__).resolve().parents[2]
HUGGING_FACE = """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 90
    def __getitem__(self, i):
        return {"input_ids": torch.randint(0, 100, (16,)), "labels": torch.tensor(i % 2)}

config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                    intermediate_size=64, num_labels=2)
arguments = TrainingArguments(output_dir="out", num_train_epochs=3, per_device_train_batch_size=4,
                              gradient_accumulation_steps=2, eval_strategy="epoch", report_to=[], use_cpu=True,
                              save_strategy="no", disable_tqdm=True)
trainer = Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Rows(),
                  eval_dataset=Rows())
trainer.train()
print("steps:", trainer.state.global_step)
"""
LIGHTNING = """
import torch
import lightning as L

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    def training_step(self, batch, batch_idx):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val", torch.nn.functional.cross_entropy(self.net(x), y))
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)

rows = torch.utils.data.TensorDataset(torch.randn(120, 16), torch.randint(0, 2, (120,)))
data = torch.utils.data.DataLoader(rows, batch_size=8)
trainer = L.Trainer(max_epochs=3, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    accelerator="cpu")
trainer.fit(Model(), data, data)
print("steps:", trainer.global_step)
"""


@pytest.mark.parametrize(
    ("package", "program"),
    [("transformers", HUGGING_FACE), ("lightning", LIGHTNING)],
    ids=["hf", "lightning"],
)
def test_the_librarys_own_count_of_steps(package: str, program: str, tmp_path: Path) -> None:
    python = python_of("trainers", package)
    (tmp_path / "train.py").write_text(program)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "sonde", "run", "--quiet", "-o", "out.sonde", "--", python, "train.py"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    said = re.search(r"steps: (\d+)", done.stdout)
    assert said, done.stdout
    (report,) = step_reports(open_recording(tmp_path / "out.sonde").table("marks"))
    assert report.kind == "train"
    assert len(report.steps) == int(said[1]) >= 30
