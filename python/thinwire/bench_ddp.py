# SPDX-License-Identifier: BSD-3-Clause
"""thinwire-bench-ddp - what the hook of thinwire.torch would give for a model on these machines.

    mpirun -n RANKS [...] thinwire-bench-ddp [MODEL] [--batch N] [--codec SPEC] [--threads N] [--seconds S] [--json FILE]

MODEL is one of those below, or MODULE:FUNCTION or FILE.py:FUNCTION: a function of the batch that gives the model and a
tensor, such that model(tensor) is a tensor. Steps (forward, backward; no optimizer) of DistributedDataParallel on
random data are timed in turns: gloo as it is, its hooks with bfloat16 and float16, thinwire without loss and with the
codec. A step takes as long as its slowest rank; the median counts. The verdict compares the codec with the best of
gloo, and says so where it is not worth it.
"""
import argparse
import importlib
import importlib.util
import json
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

import thinwire
import thinwire.torch

WORTH = 1.05  # times as fast as the best of the others
WARM = 3  # steps: DDP rebuilds its buckets after the first
MOST = 200  # steps of each


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
    widths = [(64, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512)]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        *(_block(*width) for width in widths), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000),
    )  # fmt: skip
    return model, torch.randn(batch, 3, side, side)


def alexnet(batch: int, side: int = 224) -> Tuple[nn.Module, Any]:
    model = nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, 1, 2), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, 1, 1), nn.ReLU(), nn.Conv2d(384, 256, 3, 1, 1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(6), nn.Flatten(),
        nn.Linear(9216, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000),
    )  # fmt: skip
    return model, torch.randn(batch, 3, side, side)


def mlp(batch: int) -> Tuple[nn.Module, Any]:
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
        return getattr(module, function)
    except Exception as error:
        raise Bad("model '%s': %s" % (name, error)) from None


# ---- ways to exchange ----------------------------------------------------------------------------

Setter = Callable[[Any], Optional[thinwire.torch.Hook]]


def gloo(hook: Any = None) -> Setter:
    def setter(model: Any) -> None:
        if hook is not None:
            model.register_comm_hook(None, hook)

    return setter


def ways(codec: str) -> Dict[str, Setter]:
    """Name of the row: what registers its hook."""
    return {
        "gloo fp32": gloo(),
        "gloo bf16": gloo(default_hooks.bf16_compress_hook),
        "gloo fp16": gloo(default_hooks.fp16_compress_hook),
        "thinwire fp32": lambda model: thinwire.torch.register(model, "fp32"),
        "thinwire " + codec: lambda model: thinwire.torch.register(model, codec),
    }


class Row(NamedTuple):
    way: str
    step: float  # seconds, median
    least: float
    most: float
    megabytes: Optional[float]  # sent by this rank in a step; None: unknown


class Runner:
    """A model with one way to exchange."""

    def __init__(self, way: str, setter: Setter, model: nn.Module, batch: Any) -> None:
        self.way, self.times = way, []  # type: str, List[float]
        self._model, self._batch = DistributedDataParallel(model), batch
        self._hook = setter(self._model)
        self._warm = True

    def steps(self, count: int, timed: bool = True) -> None:
        if timed and self._warm:
            self._warm = False
            if self._hook is not None:
                self._hook.comm.reset_stats()
        for _ in range(count):
            dist.barrier()
            start = time.perf_counter()
            self._model(self._batch).float().square().mean().backward()
            if timed:
                self.times.append(time.perf_counter() - start)
            self._model.zero_grad(set_to_none=True)

    def row(self) -> Row:
        times = torch.tensor(self.times, dtype=torch.float64)
        dist.all_reduce(times, dist.ReduceOp.MAX)
        sent = None if self._hook is None else self._hook.comm.stats().bytes_sent / len(self.times) / 1e6
        found: List[float] = times.tolist()
        return Row(self.way, statistics.median(found), min(found), max(found), sent)


def alone(model: nn.Module, batch: Any) -> float:
    """Seconds of a step without exchange."""
    times = []
    for _ in range(WARM + 3):
        dist.barrier()
        start = time.perf_counter()
        model(batch).float().square().mean().backward()
        times.append(time.perf_counter() - start)
        model.zero_grad(set_to_none=True)
    slowest = torch.tensor(times[WARM:], dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return statistics.median(slowest.tolist())


def measure(make: Callable[[int], Tuple[nn.Module, Any]], batch: int, setters: Dict[str, Setter], seconds: float) -> List[Row]:
    """All ways in turns, until about so many seconds are over; at least two turns."""
    runners = [Runner(way, setter, *make(batch)) for way, setter in setters.items()]
    start = time.perf_counter()
    for runner in runners:
        runner.steps(WARM, timed=False)
    turn = torch.tensor([(time.perf_counter() - start) / WARM])
    dist.all_reduce(turn, dist.ReduceOp.MAX)
    for _ in range(min(max(int(seconds / turn.item()), 2), MOST)):
        for runner in runners:
            runner.steps(1)
    return [runner.row() for runner in runners]


# ---- what it says --------------------------------------------------------------------------------


def verdict(rows: List[Row], compute: float) -> str:
    """One line. The last row is that of the codec."""
    best = min((row for row in rows if row.way.startswith("gloo")), key=lambda row: row.step)
    ours = rows[-1]
    gain = best.step / ours.step
    exposed = max(0.0, 1 - compute / rows[0].step)
    if gain < WORTH:
        return "not worth it: %s takes %.2f times as long as %s (communication is %.0f %% of a step of gloo fp32)" % (
            ours.way, ours.step / best.step, best.way, 100 * exposed,
        )  # fmt: skip
    return "%s makes a step %.2f times as fast as gloo fp32, %.2f times as fast as the best of gloo (%s)" % (
        ours.way, rows[0].step / ours.step, gain, best.way,
    )  # fmt: skip


def table(rows: List[Row]) -> str:
    width = max(len(row.way) for row in rows)
    lines = ["%-*s  %10s  %10s  %10s  %8s  %12s" % (width, "", "step, ms", "least", "most", "speedup", "MB sent/step")]
    for row in rows:
        sent = "-" if row.megabytes is None else "%.2f" % row.megabytes
        lines.append(
            "%-*s  %10.2f  %10.2f  %10.2f  %8.2f  %12s"
            % (width, row.way, 1e3 * row.step, 1e3 * row.least, 1e3 * row.most, rows[0].step / row.step, sent)
        )
    return "\n".join(lines)


def run(given: argparse.Namespace) -> None:
    thinwire.Codec(given.codec)
    make = find(given.model)
    if dist.get_world_size() == 1:
        raise Bad("one rank exchanges nothing: mpirun -n RANKS thinwire-bench-ddp ...")
    model, batch = make(given.batch)
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    compute = alone(model, batch)
    rows = measure(make, given.batch, ways(given.codec), given.seconds)
    if dist.get_rank() != 0:
        return
    says = verdict(rows, compute)
    print(
        "%s: %.2f million parameters, batch %d on each of %d ranks, %d threads; forward and backward alone %.2f ms"
        % (given.model, parameters / 1e6, given.batch, dist.get_world_size(), torch.get_num_threads(), 1e3 * compute)
    )
    print(table(rows))
    print("verdict: " + says)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as stream:
            json.dump(
                {
                    "model": given.model, "parameters": parameters, "batch": given.batch, "ranks": dist.get_world_size(),
                    "threads": torch.get_num_threads(), "torch": torch.__version__, "thinwire": thinwire.__version__,
                    "compute_seconds": compute, "verdict": says, "rows": [row._asdict() for row in rows],
                }, stream, indent=2,
            )  # fmt: skip
            stream.write("\n")


def arguments(words: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="thinwire-bench-ddp", description="What the hook of thinwire.torch gives here: step times beside gloo's."
    )
    parser.add_argument("model", nargs="?", default="resnet18",
                        help="%s, MODULE:FUNCTION or FILE.py:FUNCTION [resnet18]" % ", ".join(MODELS))  # fmt: skip
    parser.add_argument("--batch", type=int, default=8, help="examples on each rank [8]")
    parser.add_argument("--codec", default="tree8", help="spec of the gradients' codec [tree8]")
    parser.add_argument("--threads", type=int, default=0, help="of each rank, for computing [as torch has it]")
    parser.add_argument("--seconds", type=float, default=45, help="how long to measure, about [45]")
    parser.add_argument("--json", help="file for the numbers")
    given = parser.parse_args(words)
    if given.batch < 1 or given.threads < 0 or not given.seconds > 0:
        parser.error("--batch and --seconds are above 0, --threads is not below")
    return given


def fail(text: str) -> NoReturn:
    if dist.get_rank() == 0:
        print("thinwire-bench-ddp: " + text, file=sys.stderr)
    sys.exit(2)


def main(words: Optional[List[str]] = None) -> int:
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
