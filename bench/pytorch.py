#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Images per second of thinwire-train beside PyTorch on the CPU, one thread a process, random images: a table.

    python3 bench/pytorch.py BUILD_DIR [MODEL[@RANKS]...] [--rounds N] [--steps N] [--options WORDS]

MODEL is one of mlp, resnet-20, alexnet-s0, alexnet-2012, vgg-a, resnet-34 and googlenet (default: all); with @RANKS so
many processes share the batch of one, those of thinwire-train by mpirun (MPIRUN) with the words of --options, those of
PyTorch by DistributedDataParallel over gloo. PyTorch's network is made of the model file. In each round thinwire-train,
PyTorch and PyTorch tuned (channels-last tensors, the fused optimizer where there is one, gradients in DDP's buckets) take
turns, each in new processes, in every second round the other way about. A run gives the median of its steps but the first
two, of the slowest process; the table has the medians of the runs, and the ratio to the faster of the two PyTorch, above 1
if thinwire-train is faster. Needs torch, 1.13 or newer. 25 minutes on two cores.
"""
import argparse
import inspect
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "gpu"))
import torch_models  # noqa: E402  # the path is set above

BATCHES = {"mlp": 128, "resnet-20": 128, "alexnet-s0": 16, "alexnet-2012": 16, "vgg-a": 4, "resnet-34": 8,
           "googlenet": 8}
WARM = 2


def config_of(model):
    with open(os.path.join(TOP, "train", "model", "zoo", model + ".cfg"), encoding="utf-8") as file:
        return torch_models.parse(file.read())


def optimizer_of(config, net, batch, tuned):
    """That of the model file, whose rate is that of its batch."""
    given = config["training"]
    rate = given["rate"] * min(1, batch / given["batch"])
    if given.get("optimizer") == "rmsprop":
        return torch.optim.RMSprop(net.parameters(), rate, alpha=given["rms_decay"], eps=1e-8)
    fused = {"fused": True} if tuned and "fused" in inspect.signature(torch.optim.SGD.__init__).parameters else {}
    return torch.optim.SGD(net.parameters(), rate, given["momentum"], weight_decay=given.get("decay", 0), **fused)


def work(rank, model, ranks, steps, tuned, folder):
    """One process of PyTorch; the first writes the seconds of each step."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    config, batch = config_of(model), BATCHES[model] // ranks
    images = config["input"]
    shape = (images["channels"], images["height"], images["width"])
    layout = torch.channels_last if tuned and model != "mlp" else torch.contiguous_format
    net = torch_models.Net(config).to(memory_format=layout)
    optimizer = optimizer_of(config, net, BATCHES[model], tuned)
    if ranks > 1:
        dist.init_process_group("gloo", init_method="file://" + os.path.join(folder, "meeting"), rank=rank, world_size=ranks)
        net = DistributedDataParallel(net, gradient_as_bucket_view=tuned)
    pixels = torch.randint(0, 256, (4 * batch, *shape), dtype=torch.uint8)
    labels = torch.randint(config["classes"], (4 * batch,))
    seconds = []
    for step in range(WARM + steps):
        start = time.perf_counter()
        chosen = slice(step % 4 * batch, (step % 4 + 1) * batch)
        optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(net((pixels[chosen] / 255.0).contiguous(memory_format=layout)), labels[chosen])
        loss.backward()
        optimizer.step()
        if not math.isfinite(loss.item()):
            sys.exit("pytorch.py: %s: the loss of step %d is not finite" % (model, step + 1))
        seconds.append(time.perf_counter() - start)
    times = torch.tensor(seconds[WARM:], dtype=torch.float64)
    if ranks > 1:
        dist.all_reduce(times, dist.ReduceOp.MAX)
        dist.destroy_process_group()
    if rank == 0:
        with open(os.path.join(folder, "seconds"), "w", encoding="ascii") as file:
            json.dump(times.tolist(), file)


def pytorch(given, model, ranks, tuned=False):
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (model, ranks, given.steps, tuned, folder), ranks)
        with open(os.path.join(folder, "seconds"), encoding="ascii") as file:
            return BATCHES[model] / statistics.median(json.load(file))


def tuned_pytorch(given, model, ranks):
    return pytorch(given, model, ranks, True)


def thinwire(given, model, ranks):
    config, batch, steps = config_of(model), BATCHES[model], WARM + given.steps
    data = "random:%dx%dx%d,%d,n=%d" % (*(config["input"][k] for k in ("height", "width", "channels")), config["classes"],
                                         steps * batch)
    launch = [os.environ.get("MPIRUN", "mpirun"), "-n", str(ranks)] if ranks > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        ended = subprocess.run(
            [*launch, os.path.join(given.build, "bin", "thinwire-train"), "--model", model, "--batch", str(batch),
             "--threads", "1", "--data", data, "--steps", str(steps), "--json", report,
             *(given.options.split() if ranks > 1 else [])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        if ended.returncode != 0:
            sys.exit("pytorch.py: thinwire-train: " + ended.stdout[-300:])
        with open(report, encoding="ascii") as file:
            return json.load(file)["images_per_second"]


def split(name):
    """MODEL[@RANKS]"""
    model, _, ranks = name.partition("@")
    if model not in BATCHES or not (ranks or "1").isdigit() or int(ranks or 1) < 1 or BATCHES[model] % int(ranks or 1):
        raise argparse.ArgumentTypeError("'%s'; accepted: %s, and a number of ranks that divides the batch" % (
            name, ", ".join(BATCHES)))
    return model, int(ranks or 1)


def main():
    parser = argparse.ArgumentParser(description="images per second of thinwire-train beside PyTorch on the CPU")
    parser.add_argument("build", help="build folder of thinwire")
    parser.add_argument("models", nargs="*", type=split, metavar="MODEL[@RANKS]", help=", ".join(BATCHES))
    parser.add_argument("--rounds", type=int, default=4, help="[4]")
    parser.add_argument("--steps", type=int, default=10, help="steps that are timed in a run [10]")
    parser.add_argument("--options", default="", help="more options of thinwire-train where RANKS is above 1")
    given = parser.parse_args()
    if min(given.rounds, given.steps) < 1:
        parser.error("--rounds and --steps are at least 1")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo",
                      OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                      OMPI_MCA_rmaps_base_oversubscribe="1")
    print("Images per second, one thread a process, PyTorch %s, medians of %d rounds of %d steps.\n" % (
        torch.__version__, given.rounds, given.steps))
    print("| model | processes | batch | thinwire-train | PyTorch | PyTorch tuned | ratio to the faster (rounds) |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for model, ranks in given.models or [(model, 1) for model in BATCHES]:
        found = {thinwire: [], pytorch: [], tuned_pytorch: []}
        for number in range(given.rounds):
            for way in list(found)[:: -1 if number % 2 else 1]:
                found[way].append(way(given, model, ranks))
        ours, plain, tuned = map(statistics.median, found.values())
        ratios = [a / max(b, c) for a, b, c in zip(*found.values())]
        print("| %s | %d | %d | %.4g | %.4g | %.4g | %.2f (%.2f to %.2f) |" % (
            model, ranks, BATCHES[model], ours, plain, tuned, ours / max(plain, tuned), min(ratios), max(ratios)), flush=True)


if __name__ == "__main__":
    main()
