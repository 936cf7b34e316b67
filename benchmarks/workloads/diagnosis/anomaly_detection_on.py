"""A VAE with anomaly detection left on."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(256, 64), nn.Linear(32, 256)

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        kl = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(-1).mean()
        return nn.functional.mse_loss(self.decode(z).sigmoid(), x) + 1e-3 * kl


torch.manual_seed(0)
torch.autograd.set_detect_anomaly(not FIXED)  # !
model = VAE()
optimizer = torch.optim.Adam(model.parameters())
x = torch.rand(64, 256)

steps, start = 400, time.perf_counter()
for _ in range(steps):
    loss = model(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
