# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_policy.py - which collectives of a process group send codes: nothing is lost unless somebody says so.

Where it is said, the later counts: THINWIRE_TORCH, the group's Options, `with codec(...)`. All ranks of a group must say
the same; of the first two that is checked when the group is made.
"""
import contextlib
import os
import threading
from typing import Any, Dict, Iterator, Optional, Tuple

from thinwire.codec import Codec
from thinwire.errors import InvalidArgumentError

VARIABLE = "THINWIRE_TORCH"
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")  # whose elements a codec may encode
DTYPES = ("float32", "bfloat16", "float16")
MINIMUM = 65536

_of_thread = threading.local()


class Options:
    """pg_options of init_process_group() and new_group() for the backend "thinwire".

    all_reduce, reduce_scatter, all_gather, all_to_all: the spec of a codec ("tree8"), or None: nothing is lost. Sums and
          averages of floats are encoded, and floats that are moved; all else never: integers, objects, MAX, MIN,
          PRODUCT, broadcast, gather, scatter, send, barrier.
    minimum: elements of a tensor from which on it is encoded, of what one rank gives.
    dtypes:  names of element types that are encoded.

    all_reduce and reduce_scatter keep no residual: for codecs that need one (onebit) register() has hooks for DDP."""

    def __init__(
        self,
        all_reduce: Optional[str] = None,
        reduce_scatter: Optional[str] = None,
        all_gather: Optional[str] = None,
        all_to_all: Optional[str] = None,
        minimum: int = MINIMUM,
        dtypes: Tuple[str, ...] = DTYPES,
    ) -> None:
        given = (all_reduce, reduce_scatter, all_gather, all_to_all)
        self.codecs: Dict[str, str] = {kind: _spec(kind, spec) for kind, spec in zip(KINDS, given) if spec is not None}
        if not isinstance(minimum, int) or minimum < 0:
            raise InvalidArgumentError("minimum is %r; accepted: a number of elements" % (minimum,))
        unknown = [dtype for dtype in dtypes if dtype not in DTYPES]
        if unknown:
            raise InvalidArgumentError("dtypes has %r; accepted: %s" % (unknown[0], ", ".join(DTYPES)))
        self.minimum, self.dtypes = minimum, tuple(sorted(dtypes))

    def __repr__(self) -> str:
        parts = ["%s=%r" % item for item in sorted(self.codecs.items())]
        return "Options(%s)" % ", ".join([*parts, "minimum=%d" % self.minimum, "dtypes=%r" % (self.dtypes,)])

    def check(self) -> "Options":
        """Raise where a spec is wrong: with the library, which the program may not have chosen before."""
        for spec in self.codecs.values():
            Codec(spec)
        return self

    def spec(self, kind: str, dtype: str, count: int) -> Optional[str]:
        """The codec for so many elements of a collective; None: nothing is lost."""
        return self.codecs.get(kind) if count >= self.minimum and dtype in self.dtypes else None


def _spec(kind: str, spec: Any) -> str:
    if not isinstance(spec, str):
        raise InvalidArgumentError("%s is of type %s; accepted: the spec of a codec" % (kind, type(spec).__name__))
    return spec


def from_environment() -> Options:
    """What THINWIRE_TORCH says: all_reduce=tree8,minimum=65536,dtypes=float32/bfloat16."""
    words: Dict[str, Any] = {}
    for part in filter(None, os.environ.get(VARIABLE, "").split(",")):
        key, equals, value = part.strip().partition("=")
        if not equals and words:  # a spec with a comma: int:12,block=256 has its "=", bitpack:2,round has none
            last = next(reversed(words))
            words[last] = "%s,%s" % (words[last], key)
        elif key in KINDS:
            words[key] = value
        elif key == "minimum" and value.isdigit():
            words[key] = int(value)
        elif key == "dtypes":
            words[key] = tuple(value.split("/"))
        elif words and next(reversed(words)) in KINDS:
            last = next(reversed(words))
            words[last] = "%s,%s" % (words[last], part.strip())
        else:
            raise InvalidArgumentError(
                "%s has %r; accepted: %s=SPEC, minimum=ELEMENTS, dtypes=NAME/NAME" % (VARIABLE, part, "=SPEC, ".join(KINDS))
            )
    return Options(**words)


@contextlib.contextmanager
def codec(group: Any = None, **codecs: Any) -> Iterator[None]:
    """`with thinwire.torch.codec(all_reduce="tree8"):` - collectives that this thread starts meanwhile on the process
    group (None: on any of the backend) are encoded; arguments as of Options; all_reduce=None: not. Nests: what the inner
    one does not name is as outside. All ranks must say the same."""
    named = Options(**codecs).check()
    stack = _stack()
    stack.append((group, named, {kind for kind in KINDS if kind in codecs}, "minimum" in codecs or "dtypes" in codecs))
    try:
        yield
    finally:
        stack.pop()


def _stack() -> Any:
    found = getattr(_of_thread, "stack", None)
    if found is None:
        found = _of_thread.stack = []
    return found


def chosen(group: Any, options: Options, kind: str, dtype: str, count: int) -> Optional[str]:
    """The codec of a collective that this thread starts on a group."""
    for named, inner, kinds, limits in reversed(_stack()):
        if kind in kinds and (named is None or named is group):
            limit = inner if limits else options
            small = count < limit.minimum or dtype not in limit.dtypes
            return None if small else inner.codecs.get(kind)
    return options.spec(kind, dtype, count)
