# SPDX-License-Identifier: BSD-3-Clause
"""A model for thinwire-bench-ddp (MODULE:FUNCTION or FILE.py:FUNCTION)."""
import torch
from torch import nn


def small(batch):
    """The model, and a batch for it."""
    return nn.Sequential(nn.Linear(100, 300), nn.Tanh(), nn.Linear(300, 10)), torch.randn(batch, 100)
