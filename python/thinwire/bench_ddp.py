# SPDX-License-Identifier: BSD-3-Clause
"""thinwire-bench-ddp - what the hook of thinwire.torch would give for a model on these machines.

    mpirun -n RANKS [...] thinwire-bench-ddp [MODEL] [--batch N] [--codec SPEC] [--bucket MB] [--threads N]
                                             [--seconds S] [--json FILE]

MODEL is one of those below, or MODULE:FUNCTION or FILE.py:FUNCTION: a function of the batch that gives the model and a
tensor, such that model(tensor) is a tensor. Steps (forward, backward; no optimizer) of DistributedDataParallel on
random data are timed in turns: gloo as it is, its hooks with bfloat16 and float16, thinwire without loss and with the
codec. A step takes as long as its slowest rank; the median counts. The verdict compares the codec with all others, and
says so where it is not worth it. MB are those that a rank sends in a step, the mean over the ranks: to other nodes, and
within its own, by messages or through memory; the base is the size of the gradients.
"""
import argparse
import importlib
import importlib.util
import json
import math
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple

try:
    import torch
except ImportError as error:
    sys.exit("thinwire-bench-ddp: PyTorch cannot be imported (%s): pip install torch" % error)
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import thinwire
import thinwire.torch

WORTH = 1.05  # times as fast as the best of the others
EXACT = ("gloo fp32", "thinwire fp32")  # rows that lose nothing
WARM = 3  # steps: DDP rebuilds its buckets after the first
MOST = 50  # steps of a turn
MOST_MB = 1 << 20  # of a bucket


class Bad(Exception):
    """An argument; on all ranks the same."""


# ---- models --------------------------------------------------------------------------------------


def _block(inputs: int, outputs: int) -> nn.Module:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            stride = 1 if inputs == outputs else 2
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(outputs)
            self.shortcut = nn.Sequential() if stride == 1 else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, 2, bias=False), nn.BatchNorm2d(outputs)
            )

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.norm1(self.conv1(x)))
            return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))

    return Block()


def resnet18(batch: int, side: int = 224) -> Tuple[nn.Module, Any]:
    """He et al. 2016, and so many images of 3 x side x side."""
    widths = [(64, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512)]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        *(_block(*width) for width in widths), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000),
    )  # fmt: skip
    return model, torch.randn(batch, 3, side, side)


def alexnet(batch: int, side: int = 224) -> Tuple[nn.Module, Any]:
    """Krizhevsky 2014 (one column), without dropout, and so many images of 3 x side x side."""
    model = nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, 1, 2), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, 1, 1), nn.ReLU(), nn.Conv2d(384, 256, 3, 1, 1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6), nn.Flatten(),
        nn.Linear(9216, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000),
    )  # fmt: skip
    return model, torch.randn(batch, 3, side, side)


def mlp(batch: int) -> Tuple[nn.Module, Any]:
    """Two dense layers, and so many vectors of 784."""
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)), torch.randn(batch, 784)


MODELS: Dict[str, Callable[[int], Tuple[nn.Module, Any]]] = {
    "alexnet": alexnet,  # 61.1 million parameters
    "mlp": mlp,  # 0.4
    "resnet18": resnet18,  # 11.7
}


def find(name: str) -> Callable[[int], Tuple[nn.Module, Any]]:
    """The function that makes a model."""
    if name in MODELS:
        return MODELS[name]
    place, colon, function = name.rpartition(":")
    if not colon:
        raise Bad("no model '%s'; there are %s, MODULE:FUNCTION and FILE.py:FUNCTION" % (name, ", ".join(MODELS)))
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location("thinwire_bench_model", place)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
        made: Callable[[int], Tuple[nn.Module, Any]] = getattr(module, function)
        return made
    except Exception as error:
        raise Bad("model '%s': %s" % (name, error)) from None


# ---- ways to exchange ----------------------------------------------------------------------------

Wrapper = Callable[[nn.Module], Tuple[Any, Optional[thinwire.torch.Hook]]]


def gloo(hook: Any = None, **options: Any) -> Wrapper:
    """DDP, with these options, and one of torch's hooks, or without."""

    def wrap(model: nn.Module) -> Tuple[Any, None]:
        wrapped = DistributedDataParallel(model, **options)
        if hook is not None:
            wrapped.register_comm_hook(None, hook)
        return wrapped, None

    return wrap


def ours(codec: str, feedback: Optional[bool] = None, **options: Any) -> Wrapper:
    """DDP with the hook of thinwire, with error feedback or not; None: if the codec wants it."""
    def wrap(model: nn.Module) -> Tuple[Any, thinwire.torch.Hook]:
        wrapped = DistributedDataParallel(model, **options)
        return wrapped, thinwire.torch.register(wrapped, codec, feedback=feedback)

    return wrap


def ways(codec: str, **options: Any) -> Dict[str, Wrapper]:
    """Name of the row: what makes a DDP model of a model, with these options."""
    return {
        "gloo fp32": gloo(**options),
        "gloo bf16": gloo(default_hooks.bf16_compress_hook, **options),
        "gloo fp16": gloo(default_hooks.fp16_compress_hook, **options),
        "thinwire fp32": ours("fp32", **options),
        "thinwire " + codec: ours(codec, **options),
    }


def megabytes(text: str) -> float:
    """The size of a bucket, from the command line."""
    size = float(text)
    if not 0 < size < MOST_MB:
        raise argparse.ArgumentTypeError("%g MB; accepted: above 0, below %d" % (size, MOST_MB))
    return size


def buckets(size: Optional[float]) -> Dict[str, Any]:
    """The options of DDP for buckets of so many megabytes; None: as it has them."""
    return {} if size is None else {"bucket_cap_mb": size}


class Row(NamedTuple):
    """Of the table."""

    way: str
    step: float  # seconds, median
    least: float
    most: float
    network_mb: Optional[float] = None  # sent by a rank in a step to ranks of other nodes; None: unknown
    memory_mb: Optional[float] = None  # to those of its own


class Samples:
    """Of one way to exchange, over all turns."""

    def __init__(self) -> None:
        self.seconds: List[float] = []
        self.bytes: Optional[Tuple[int, int]] = None  # to other nodes, in this one

    def turn(self, wrap: Wrapper, model: nn.Module, batch: Any, count: int) -> None:
        """So many steps, after those that warm up."""
        wrapped, hook = wrap(model)
        steps(wrapped, batch, WARM)
        if hook is not None:
            hook.comm.reset_stats()
        self.seconds += steps(wrapped, batch, count)
        if hook is not None:
            before, stats = self.bytes or (0, 0), hook.comm.stats()
            self.bytes = before[0] + stats.bytes_network, before[1] + stats.bytes_memory
            hook.free()

    def row(self, way: str) -> Row:
        """What the table says. Collective."""
        found = slowest(self.seconds)
        row = Row(way, statistics.median(found), min(found), max(found))
        if self.bytes is None:
            return row
        sent = torch.tensor(self.bytes, dtype=torch.float64)
        dist.all_reduce(sent)
        sent /= 1e6 * len(found) * dist.get_world_size()
        return row._replace(network_mb=sent[0].item(), memory_mb=sent[1].item())


def steps(model: nn.Module, batch: Any, count: int) -> List[float]:
    """Seconds of each."""
    seconds = []
    for _ in range(count):
        dist.barrier()
        start = time.perf_counter()
        model(batch).float().square().mean().backward()
        seconds.append(time.perf_counter() - start)
        model.zero_grad(set_to_none=True)
    return seconds


def slowest(seconds: List[float]) -> List[float]:
    """Of each step, those of the slowest rank."""
    times = torch.tensor(seconds, dtype=torch.float64)
    dist.all_reduce(times, dist.ReduceOp.MAX)
    return times.tolist()


def alone(model: nn.Module, batch: Any) -> float:
    """Seconds of a step without exchange."""
    return statistics.median(slowest(steps(model, batch, WARM + 3)[WARM:]))


def measure(model: nn.Module, batch: Any, wraps: Dict[str, Wrapper], limit: float) -> List[Row]:
    """All ways in turns, until about so many seconds are over; at least two turns."""
    found = {way: Samples() for way in wraps}
    begin = time.perf_counter()
    guess = slowest(steps(DistributedDataParallel(model), batch, WARM))[-1]
    count = min(max(int(limit / (2 * len(wraps) * guess)) - WARM, 1), MOST)
    turns, over = 0, False
    while turns < 2 or not over:
        for way, wrap in wraps.items():
            found[way].turn(wrap, model, batch, count)
        turns += 1
        spent = slowest([time.perf_counter() - begin])[0]
        over = spent * (turns + 1) / turns > limit
    return [samples.row(way) for way, samples in found.items()]


# ---- what it says --------------------------------------------------------------------------------


def verdict(rows: List[Row], compute: float) -> str:
    """One line. The last row is that of the codec."""
    last, others = rows[-1], rows[:-1]
    best = min(others, key=lambda row: row.step)
    exact = min((row for row in others if row.way in EXACT), key=lambda row: row.step)
    exposed = "communication is %.0f %% of a step of gloo fp32" % (100 * max(0.0, 1 - compute / rows[0].step))
    if last.way not in EXACT and exact.step < WORTH * last.step:
        return "compression does not pay: %s, which loses nothing, takes %.2f ms for a step, %s %.2f ms (%s)" % (
            exact.way, 1e3 * exact.step, last.way, 1e3 * last.step, exposed,
        )  # fmt: skip
    if best.step < WORTH * last.step:
        return "not worth it: %s takes %.2f times as long as %s (%s)" % (
            last.way, last.step / best.step, best.way, exposed,
        )  # fmt: skip
    return "%s makes a step %.2f times as fast as gloo fp32, %.2f times as fast as the best of the others (%s)" % (
        last.way, rows[0].step / last.step, best.step / last.step, best.way,
    )  # fmt: skip


def table(rows: List[Row]) -> str:
    """A line for each way; speedup is relative to the first."""
    width = max(len(row.way) for row in rows)
    heads = ("step, ms", "least", "most", "speedup", "MB network", "MB memory")
    lines = ["%-*s  %10s  %10s  %10s  %8s  %10s  %10s" % (width, "", *heads)]
    for row in rows:
        sent = ["-" if mb is None else "%.2f" % mb for mb in (row.network_mb, row.memory_mb)]
        lines.append(
            "%-*s  %10.2f  %10.2f  %10.2f  %8.2f  %10s  %10s"
            % (width, row.way, 1e3 * row.step, 1e3 * row.least, 1e3 * row.most, rows[0].step / row.step, *sent)
        )
    return "\n".join(lines)


def run(given: argparse.Namespace) -> None:
    """Measure, and print on rank 0. Collective."""
    thinwire.Codec(given.codec)
    make = find(given.model)
    if dist.get_world_size() == 1:
        raise Bad("one rank exchanges nothing: mpirun -n RANKS thinwire-bench-ddp ...")
    model, batch = make(given.batch)
    trained = [p for p in model.parameters() if p.requires_grad]
    parameters = sum(p.numel() for p in trained)
    size = sum(p.numel() * p.element_size() for p in trained) / 1e6
    compute = alone(model, batch)
    rows = measure(model, batch, ways(given.codec, **buckets(given.bucket)), given.seconds)
    if dist.get_rank() != 0:
        return
    says = verdict(rows, compute)
    print(
        "%s: %.2f million parameters, gradients of %.2f MB, batch %d on each of %d ranks, %d threads; "
        "forward and backward alone %.2f ms"
        % (
            given.model, parameters / 1e6, size, given.batch, dist.get_world_size(), torch.get_num_threads(),
            1e3 * compute,
        )  # fmt: skip
    )
    print(table(rows))
    print("verdict: " + says)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as stream:
            json.dump(
                {
                    "model": given.model, "parameters": parameters, "gradients_mb": size,
                    "batch": given.batch, "bucket_mb": given.bucket,
                    "ranks": dist.get_world_size(),
                    "threads": torch.get_num_threads(), "torch": torch.__version__, "thinwire": thinwire.__version__,
                    "compute_seconds": compute, "verdict": says, "rows": [row._asdict() for row in rows],
                }, stream, indent=2,
            )  # fmt: skip
            stream.write("\n")


def arguments(words: Optional[List[str]]) -> argparse.Namespace:
    """The command line; of the process for None."""
    parser = argparse.ArgumentParser(
        prog="thinwire-bench-ddp", description="What the hook of thinwire.torch gives here: step times beside gloo's."
    )
    parser.add_argument("model", nargs="?", default="resnet18",
                        help="%s, MODULE:FUNCTION or FILE.py:FUNCTION [resnet18]" % ", ".join(MODELS))  # fmt: skip
    parser.add_argument("--batch", type=int, default=8, help="examples on each rank [8]")
    parser.add_argument("--codec", default="tree8", help="spec of the gradients' codec [tree8]")
    parser.add_argument("--bucket", type=megabytes, help="DDP's bucket_cap_mb [as torch has it: 1, then 25]")
    parser.add_argument("--threads", type=int, default=0, help="of each rank, for computing [as torch has it]")
    parser.add_argument("--seconds", type=float, default=45, help="how long to measure, about [45]")
    parser.add_argument("--json", help="file for the numbers")
    given = parser.parse_args(words)
    if given.batch < 1 or given.threads < 0 or not 0 < given.seconds < math.inf:
        parser.error("--batch and --seconds are above 0, --threads is not below")
    return given


def fail(text: str) -> NoReturn:
    """End all ranks, which have the same error, with one line."""
    if dist.get_rank() == 0:
        print("thinwire-bench-ddp: " + text, file=sys.stderr)
    sys.exit(2)


def main(words: Optional[List[str]] = None) -> int:
    """The console script."""
    given = arguments(words)
    if given.threads:
        torch.set_num_threads(given.threads)
    thinwire.torch.init_process_group()
    torch.manual_seed(1)
    try:
        run(given)
    except (Bad, thinwire.SpecError) as error:
        fail(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
