# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_hook.py - averages with residuals that belong to parameters, and the communication hook for
DistributedDataParallel.
"""
import atexit
import hashlib
import json
import weakref
from typing import Any, Dict, List, Optional, Tuple

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from thinwire import _mpi
from thinwire._library import lib
from thinwire.codec import Codec
from thinwire.comm import CodecLike, Comm
from thinwire.errors import Error, FormatError, InvalidArgumentError, InvalidTypeError
from thinwire.feedback import Feedback
from thinwire.requests import seconds
from thinwire.torch import _group
from thinwire.torch._exchange import Exchanger
from thinwire.torch._values import REALS, codec_for, float32_codec, is_small, length

PATIENCE = 60.0  # seconds
_NAME = 63  # characters of a feedback's name
_alive: "weakref.WeakSet[Exchanger]" = weakref.WeakSet()  # each lives as long as its thread


def register(
    model: Any,
    codec: CodecLike = "tree8",
    small: CodecLike = "fp32",
    feedback: Optional[bool] = None,
    *,
    comm: Optional[Comm] = None,
    timeout: float = PATIENCE,
) -> "Hook":
    """Have the gradients of a DistributedDataParallel model averaged by thinwire: model.register_comm_hook().

    codec     spec or Codec of the gradients; float16 and bfloat16 ones are sent as they are where it makes them no
              shorter, float64 ones are encoded as float32 unless it loses nothing, complex ones as pairs of real
              numbers.
    small     of those of small parameters, where codec loses something: of fewer than 1024 elements, or of one axis
              (biases, normalisation) and fewer than 65536.
    feedback  whether what the codec loses is added to the next gradient of the same parameter; None: if the codec
              wants it (onebit, for example). Two vectors of the size of each parameter.
    comm      a Comm over the ranks of model.process_group in their order, which nobody else uses meanwhile; None: one
              of its own is made.
    timeout   seconds to wait for the other ranks of the group, here only; later THINWIRE_TIMEOUT counts.

    Collective over the ranks of the group, whose arguments and parameters must be the same; if not, or if one rank has
    something against it, or does not come, all of them get an exception. MPI must be initialised with
    MPI_THREAD_MULTIPLE, as thinwire and mpi4py do. The hook stays as long as the model.
    """
    if not isinstance(model, DistributedDataParallel):
        raise InvalidTypeError("model is of type %s; accepted: DistributedDataParallel" % type(model).__name__)
    return Hook(model, codec, small, feedback, comm, timeout)


def _check(parameters: List[Tuple[str, Any]], ranks: List[int], comm: Any) -> None:
    if not parameters:
        raise InvalidArgumentError("no parameter of the model has a gradient")
    devices = sorted({str(p.device) for _, p in parameters})
    if devices != ["cpu"]:
        raise InvalidArgumentError("parameters are on %s; accepted: all on cpu" % ", ".join(devices))
    if comm is not None:
        if not isinstance(comm, Comm):
            raise InvalidTypeError("comm is of type %s; accepted: a thinwire.Comm" % type(comm).__name__)
        rank = ranks.index(dist.get_rank())
        if (comm.rank, comm.size) != (rank, len(ranks)):
            raise InvalidArgumentError(
                "comm is rank %d of %d, the process group rank %d of %d" % (comm.rank, comm.size, rank, len(ranks))
            )
    if lib.MPI and not _mpi.multiple():
        raise InvalidArgumentError("MPI was not initialised with MPI_THREAD_MULTIPLE (mpi4py: rc.thread_level)")


def trained(module: Any) -> List[Tuple[str, Any]]:
    """The names and parameters that have gradients."""
    return [(name, p) for name, p in module.named_parameters() if p.requires_grad]


def keeps_residuals(codec: Codec, wish: Optional[bool]) -> bool:
    """Whether a codec has error feedback; None: if it wants that."""
    return not codec.traits.lossless and bool(codec.traits.feedback if wish is None else wish)


def feedback_name(name: str) -> str:
    """The name of a parameter where it serves, else the end of it and a hash."""
    if len(name) <= _NAME and name.isprintable() and " " not in name:
        return name
    shown = "".join(c if c.isprintable() and c.isascii() and c != " " else "_" for c in name)[-(_NAME - 17) :]
    return "%s-%s" % (shown, hashlib.sha256(name.encode()).hexdigest()[:16])


def _some(names: List[Any], most: int = 2) -> str:
    """The first of some names, for a line."""
    return ", ".join([*map(repr, names[:most]), *(["..."] if len(names) > most else [])]) or "none"


def _nothing() -> None:
    """The hook of a copy."""


class Residuals:
    """Of the parts of a model.

    comm       the communicator, for stats()
    codec      the full spec of the codec
    feedbacks  the Feedback of each part that has one, by its name
    """

    comm: Comm
    codec: str
    feedbacks: Dict[str, Feedback]

    def state_dict(self) -> Dict[str, Any]:
        """The residuals, for a checkpoint that rank 0 of the group writes (elsewhere the same without the residuals);
        between two backward passes. Collective."""
        return {
            "codec": self.codec,
            "feedback": {name: feedback.state_dict() for name, feedback in self.feedbacks.items()},
        }

    def load_state_dict(self, state: Dict[str, Any], use: str = "sum") -> None:
        """Take back what state_dict() gave; only what rank 0 of the group has counts. On another number of ranks
        see Feedback.load_state_dict(). A state without one of the parameters, or with one of another size, is a
        FormatError on all ranks, after which all residuals are zero. Collective."""
        saved = state.get("feedback") if isinstance(state, dict) else None
        saved = saved if isinstance(saved, dict) else {}
        missing = [name for name in self.feedbacks if name not in saved]
        try:
            for name, feedback in self.feedbacks.items():
                feedback.load_state_dict(saved.get(name, {}), use)
        except FormatError:
            self.clear()
            if self.comm.rank == 0 and missing:
                raise FormatError(
                    "the state has no residuals of %s%s; it has %s"
                    % ("%d parameters: " % len(missing) if len(missing) > 1 else "", _some(missing), _some(list(saved)))
                ) from None
            raise

    def clear(self) -> None:
        """Set all residuals to zero; on all ranks, to be of use."""
        for feedback in self.feedbacks.values():
            feedback.clear()


class Averages(Residuals):
    """What averages of a module's parameters, or of their gradients, need: on all ranks the same wishes, a
    communicator, and residuals that belong to parameters. `small` is the full spec of small parameters' codec.
    """

    def __init__(
        self,
        what: str,
        module: Any,
        group: Any,
        codec: CodecLike,
        small: CodecLike,
        feedback: Optional[bool],
        comm: Optional[Comm],
        timeout: float,
        problem: str = "",
        **asked: Any,
    ) -> None:
        """Collective over the ranks of the group, as register() says. `what` is the function for which this is, problem
        why this rank cannot take part, or "", asked what else must be the same on all."""
        self._ranks, self._own = _group.ranks_of(group), comm is None
        parameters = trained(module)
        codecs, limit = None, PATIENCE
        try:
            codecs = float32_codec(codec), float32_codec(small)
            limit = seconds(timeout, "timeout")
            for dtype in {p.dtype for _, p in parameters}.intersection(REALS):
                codec_for(codecs[0], dtype)
            _check(parameters, self._ranks, comm)
        except Error as error:
            problem = problem or str(error)
        asked.update(codec=codecs and codecs[0].spec, small=codecs and codecs[1].spec, feedback=feedback, comm=comm is not None)
        self._agree(what, asked, problem, limit, parameters)
        assert codecs is not None
        self.comm = _group.communicator(self._ranks) if comm is None else comm
        self.codec, self.small = (codec.spec for codec in codecs)
        self.feedbacks = {}
        self.comm.start_progress()
        if keeps_residuals(codecs[0], feedback):
            for name, parameter in parameters:
                if not is_small(parameter):
                    self.feedbacks[name] = self.comm.feedback(feedback_name(name), length(parameter))
        by_id = {id(parameter): self.feedbacks[name] for name, parameter in parameters if name in self.feedbacks}
        self._exchanger = Exchanger(self, self.comm, codecs[0], codecs[1], by_id)
        _stop_at_exit(self._exchanger)

    def _agree(
        self, what: str, asked: Dict[str, Any], problem: str, limit: float, parameters: List[Tuple[str, Any]]
    ) -> None:
        details = [] if problem else [[name, *p.shape, str(p.dtype)] for name, p in parameters]
        asked["parameters"] = hashlib.sha256(json.dumps(details).encode()).hexdigest()
        _group.agree(what, self._ranks, asked, problem, details, limit)

    def __repr__(self) -> str:
        return "thinwire.torch.%s(%r, small=%r, %d feedbacks, %r)" % (
            type(self).__name__,
            self.codec,
            self.small,
            len(self.feedbacks),
            self.comm,
        )

    def free(self) -> None:
        """Release thread and communicator; backward of the model fails from then on. Collective. Of a hook that nobody
        frees, thread and residuals go with the model, the communicator when the program ends."""
        self._exchanger.stop()
        for feedback in self.feedbacks.values():
            feedback.free()
        self.feedbacks = {}
        if self._own:
            self.comm.free()


class Hook(Averages):
    """What register() returns: the exchange of a model's gradients. A copy of the model has none."""

    def __init__(self, model: Any, *wishes: Any) -> None:
        hooked = model._get_ddp_logging_data().get("comm_hook")  # in torch 2.2 too, and of builtin hooks
        problem = "the model has a communication hook already" if hooked else ""
        super().__init__("thinwire.torch.register", model.module, model.process_group, *wishes, problem)
        model.register_comm_hook(self, _exchange)

    def __reduce__(self) -> Tuple[Any, ...]:
        """Of a model that is pickled or copied, torch drops the hook, whoever wrote it, and keeps this."""
        return _nothing, ()


def _exchange(hook, bucket):  # type: ignore[no-untyped-def]  # DDP looks at annotations
    return hook._exchanger.submit(bucket.buffer(), bucket.parameters())


_watching = False


def _stop_at_exit(exchanger: Exchanger) -> None:
    """The threads must not use communicators that are freed at the end: this runs before (atexit goes backwards)."""
    global _watching
    _alive.add(exchanger)
    if not _watching:
        _watching = True
        atexit.register(_stop_all)


def _stop_all() -> None:
    for exchanger in list(_alive):
        exchanger.stop()
