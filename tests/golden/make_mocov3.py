#!/usr/bin/python3
"""Writes method_mocov3/: MoCo-v3's loss by a plain expression in PyTorch, which no recording has.

usage: tests/golden/make_mocov3.py

L = sum over both directions of 2 T CE(u(pred_v) u(target_o)^T / T, row i = column i), o the other view;
targets are constant. Values in float64 and float32 from the same float32 inputs.
"""
import json
import os

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "method_mocov3")
BATCH, DIM, CASES = 24, 16, {"t1": 1.0, "t0p2": 0.2}


def loss_of(pred, target, t):
    right, total = torch.arange(len(pred[0])), 0
    for v in range(2):
        scores = normalize(pred[v], dim=1) @ normalize(target[1 - v], dim=1).T / t
        total = total + 2 * t * cross_entropy(scores, right)
    return total


def main():
    torch.manual_seed(20)
    common = torch.randn(BATCH, DIM)
    arrays = {"pred_raw": (common + torch.randn(2, BATCH, DIM)).numpy(),
              "target_raw": (common + torch.randn(2, BATCH, DIM)).numpy()}
    meaning = {"pred_raw": "views x batch x dim predictions, before length 1",
               "target_raw": "views x batch x dim projections by the averaged encoder, before length 1"}
    for case, t in CASES.items():
        for run, dtype in (("f32", torch.float32), ("f64", torch.float64)):
            pred = torch.tensor(arrays["pred_raw"], dtype=dtype, requires_grad=True)
            loss = loss_of(pred, torch.tensor(arrays["target_raw"], dtype=dtype), t)
            loss.backward()
            arrays[f"{case}_loss_{run}"] = loss.detach().numpy().reshape(1)
            arrays[f"{case}_grad_pred_{run}"] = pred.grad.numpy()
            meaning[f"{case}_loss_{run}"] = "loss"
            meaning[f"{case}_grad_pred_{run}"] = "d loss / d pred_raw"
    os.makedirs(HERE, exist_ok=True)
    for name, a in arrays.items():
        np.save(os.path.join(HERE, name + ".npy"), a)
    hyper = {"method": "mocov3", "batch": BATCH, "dim": DIM, "views": 2, "cases": list(CASES)}
    hyper.update({f"{case}_T": t for case, t in CASES.items()})
    manifest = {"case": "method_mocov3", "title": "MoCo-v3: predictions find the other view in the batch",
                "source": "tensor expression", "hyper": hyper,
                "arrays": [{"name": n, "file": n + ".npy", "dtype": str(a.dtype), "shape": list(a.shape),
                            "meaning": meaning[n]} for n, a in arrays.items()]}
    with open(os.path.join(HERE, "manifest.json"), "w") as f:
        json.dump(manifest, f, indent=1)
        f.write("\n")


main()
