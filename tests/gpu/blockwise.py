# SPDX-License-Identifier: BSD-3-Clause
# tests/gpu/blockwise.py MB - what a user would otherwise take for tree8: quantize_blockwise, blocks of
# 4096, timed as tests/gpu/run times thinwire's kernels. Prints rows for the same table.
import statistics
import sys

import torch
from bitsandbytes.functional import dequantize_blockwise, quantize_blockwise


def seconds(call):
    times = []
    for _ in range(3):
        call()
    for _ in range(15):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / 1000)
    return statistics.median(times)


for megabytes in sorted({256, int(sys.argv[1])}):
    n = megabytes * 1024 * 1024 // 4
    x = torch.randn(n, device="cuda")
    codes, state = quantize_blockwise(x, blocksize=4096)
    out = torch.empty_like(x)
    encode = seconds(lambda: quantize_blockwise(x, blocksize=4096, out=codes))
    decode = seconds(lambda: dequantize_blockwise(codes, state, out=out))
    if megabytes == 256:
        print(f"# bitsandbytes: mean absolute error {(out - x).abs().mean().item():.5f} of N(0, 1)")
    for name, time in (("quantize_blockwise", encode), ("dequantize_blockwise", decode)):
        print(f"{'bitsandbytes':16} {name:22} {megabytes:5} {time / n * 1e12:8.2f}")
    del x, codes, state, out
