# SPDX-License-Identifier: BSD-3-Clause
"""torch_suite.py BACKEND FILE [PATTERN [SOURCE...]] - PyTorch's own distributed_test.py in the ranks of one mpirun, or without
MPI of tests/store/start.sh, by gloo or by thinwire under the name of gloo, which these tests ask for; or the tests of files of
PyTorch's source, test/distributed/..., those for GPUs on processors. FILE, written by rank 0, gets a line for each test: its name
and "ok", "skip" or why it failed; tests that stand there are not run again, so that a caller may go on after one that ended the
job. PATTERN: a regular expression of names.

The tests start processes of their own; here their bodies run in the ranks, between which a store of PyTorch agrees.
"""
import contextlib
import datetime
import faulthandler
import inspect
import io
import os
import random
import re
import signal
import socket
import sys
import tempfile
import time
import types
import unittest

import numpy
import torch
import torch.distributed as dist

LIMIT = 20  # seconds of a test
BACKEND, PATH = sys.argv[1:3]
ONLY, SOURCES = sys.argv[3] if len(sys.argv) > 3 else "", sys.argv[4:]
launcher = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") if "OMPI_COMM_WORLD_RANK" in os.environ else ("RANK", "WORLD_SIZE")
rank, size = (int(os.environ[name]) for name in launcher)
os.environ.update(BACKEND="gloo", WORLD_SIZE=str(size), RANK=str(rank), LOCAL_RANK=str(rank))
meeting = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), size, rank == 0, datetime.timedelta(seconds=LIMIT))
folder = tempfile.mkdtemp() if rank == 0 else None
torch.set_num_threads(1)
met = 0


def all_say(mine):
    """What every rank says, on all of them."""
    global met
    met += 1
    meeting.set("%d/%d" % (met, rank), mine)
    return [meeting.get("%d/%d" % (met, other)).decode() for other in range(size)]


with socket.socket() as free:  # some tests start a group anew, by the environment
    free.bind(("127.0.0.1", 0))
    os.environ["MASTER_PORT"] = all_say(str(free.getsockname()[1]))[0]
folder = all_say(folder or "")[0]
os.environ["TEMP_DIR"] = folder
for name in ("barrier", "init_dir", "test_dir"):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
if BACKEND == "thinwire":
    from thinwire.torch import _backend

    dist.Backend.register_backend("gloo", _backend.create, extended_api=True, devices=["cpu"])
import torch.testing._internal.distributed.distributed_test as theirs  # noqa: E402  # which asks for BACKEND

theirs.PROFILING_SUPPORTED_BACKENDS = []  # events, with the shapes of their inputs, are for C++ alone
theirs.SEND_RECV_PROFILING_SUPPORTED_BACKENDS = []


class Suite(theirs.TestDistBackend, theirs.DistributedTest._DistTestBase):
    def _barrier(self, *_, **__):
        all_say("here")


# ---- files of the source -------------------------------------------------------------------------

FOR_PROCESSORS = {"device_ids=[self.rank]": "device_ids=None", '"cuda"': '"cpu"', ".cuda()": "", '"nccl"': '"gloo"', '"cpu:gloo,cuda:nccl"': '"gloo"'}


def prepare():
    """Let tests for GPUs, and those of gloo's own class, run."""
    from torch.testing._internal import common_distributed, common_fsdp

    common_distributed.skip_if_lt_x_gpu = lambda *_, **__: lambda function: function
    common_fsdp.FSDPTest.world_size = property(lambda self: size)
    torch.cuda.device_count, torch.cuda.set_device = lambda: size, lambda *_: None
    dist.distributed_c10d._get_default_timeout = lambda _: datetime.timedelta(seconds=LIMIT)
    if BACKEND == "thinwire":
        gloo = dist.ProcessGroupGloo

        class Options(types.SimpleNamespace):
            _timeout = datetime.timedelta(seconds=LIMIT)

        def group(store, rank, size, options=None):
            limit = getattr(options, "_timeout", options)
            asked = {"group_rank": rank, "group_size": size, "timeout": limit, "group_id": "0"}
            return _backend.Group(types.SimpleNamespace(store=store, global_ranks_in_group=[], **asked), None)

        group._Options = Options
        group.create_device = _backend.Group.create_device = staticmethod(gloo.create_device)
        dist.ProcessGroupGloo = dist.distributed_c10d.ProcessGroupGloo = group


def classes(path):
    """Those of tests of a file that start processes."""
    from torch.testing._internal.common_distributed import MultiProcessTestCase

    name = os.path.basename(path)[:-3]
    sys.path.insert(0, os.path.dirname(path))
    with open(path) as file:
        text = file.read()
    for gpu, processor in FOR_PROCESSORS.items():
        text = text.replace(gpu, processor)
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = path
    exec(compile(text, path, "exec"), module.__dict__)
    for found in list(vars(module).values()):
        if isinstance(found, type) and issubclass(found, MultiProcessTestCase) and found.__module__ == name:
            yield found


def of_files():
    prepare()
    for path in SOURCES:
        for found in classes(path):
            for name in unittest.defaultTestLoader.getTestCaseNames(found):
                yield "%s.%s.%s" % (os.path.basename(path)[:-3], found.__name__, name), found, name


# ---- a test --------------------------------------------------------------------------------------


class Stuck(BaseException):
    pass


def stuck(*_):
    raise Stuck()


def of_wheel():
    for name in sorted(dir(Suite)):
        if name.startswith("test_") and not any(word in name for word in ("cuda", "nccl", "gpu")):
            if "torchvision" not in inspect.getsource(inspect.unwrap(getattr(Suite, name))):
                yield name, Suite, name


def run(kind, name, number):
    suite = kind(name)
    suite.rank, suite.file_name = rank, os.path.join(folder, "%s.%d" % (BACKEND, number))
    suite.id = lambda: name
    if getattr(kind, "__unittest_skip__", False):
        return "skip"
    if int(suite.world_size) > size:
        return "skip"
    if rank >= int(suite.world_size):
        return "ok"
    torch.manual_seed(1234)
    random.seed(1234)
    numpy.random.seed(1234)
    try:
        signal.alarm(LIMIT)
        if not SOURCES or hasattr(suite, "init_method"):
            limit = datetime.timedelta(seconds=LIMIT)
            dist.init_process_group("gloo", init_method="file://" + suite.file_name, world_size=size, rank=rank, timeout=limit)
        with contextlib.redirect_stdout(io.StringIO()):
            getattr(suite, name)()
        return "ok"
    except unittest.SkipTest:
        return "skip"
    except SystemExit as error:
        return "skip" if error.code in theirs_skips() else "fail: exit %s" % error.code
    except Stuck:
        return "stuck"
    except BaseException as error:
        return "fail: %s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
    finally:
        signal.alarm(0)


def theirs_skips():
    from torch.testing._internal.common_distributed import TEST_SKIPS

    return {skip.exit_code for skip in TEST_SKIPS.values()}


signal.signal(signal.SIGALRM, stuck)
faulthandler.enable()
known = set()
if rank == 0 and os.path.exists(PATH):
    with open(PATH) as file:
        known = {line.split("\t")[0] for line in file}
known = set(all_say("\n".join(sorted(known)))[0].split("\n"))
for number, (label, kind, name) in enumerate(of_files() if SOURCES else of_wheel()):
    if label in known or not re.search(ONLY, label):
        continue
    if rank == 0:
        with open(PATH, "a") as file:  # if the job ends here, this is what is known of it
            file.write("%s\t" % label)
    begin = time.monotonic()
    faulthandler.dump_traceback_later(0.6 * LIMIT)
    found = all_say(run(kind, name, number))
    bad = [word for word in found if word.startswith(("fail", "stuck"))]
    if rank == 0:
        with open(PATH, "a") as file:
            file.write("%s\t%.1f\n" % (bad[0] if bad else found[0], time.monotonic() - begin))
    try:
        dist.destroy_process_group()
    except (AssertionError, RuntimeError, ValueError):
        pass  # some do it themselves
    faulthandler.cancel_dump_traceback_later()
    all_say("next")
if rank == 0:
    with open(PATH, "a") as file:
        file.write("end\n")
all_say("end")
time.sleep(1 if rank == 0 else 0)  # it has the store
os._exit(0)  # whatever a failed test has left under way
