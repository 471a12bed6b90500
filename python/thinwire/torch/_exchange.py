# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_exchange.py - averages buckets of gradients, beside backward.

submit() starts the exchange of a bucket and returns a future at once. The library's own thread (Comm.start_progress())
encodes, sends and decodes, without Python. One thread here sleeps until exchanges are complete, without the GIL, and
completes the futures, in the order of the buckets.

What travels how depends on the parameters, not on the bucket, which DDP rebuilds after the first step:

- codecs that lose nothing: the bucket as it is;
- lossy ones: each parameter alone, so that no block mixes two, with the residuals of that parameter; those that are
  small together, with the codec for small ones.
"""
import queue
import threading
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch

from thinwire.codec import Codec
from thinwire.comm import Comm
from thinwire.errors import DeadError, Error, UnsupportedError
from thinwire.feedback import Feedback
from thinwire.torch._values import is_small, length

_LOOK = 0.1  # seconds between two looks whether to stop

class Part(NamedTuple):
    """Of a bucket: a parameter that travels alone."""

    start: int
    end: int
    feedback: Optional[Feedback]


class Layout(NamedTuple):
    """Of a bucket: what travels alone, and where the small ones are."""

    parts: List[Part]
    small: List[Tuple[int, int]]


class _Exchange:
    """A bucket under way."""

    __slots__ = ("buffer", "work", "layout", "future", "small", "requests")

    def __init__(self, buffer: Any, work: Any, layout: Layout) -> None:
        self.buffer = buffer  # DDP's, into which the average goes
        self.work = work  # its values as float32 or float64: it itself, or a copy
        self.layout = layout
        self.future: Any = torch.futures.Future()
        self.small: Any = None
        self.requests: List[Any] = []


class Exchanger:
    """Of one registration; feedbacks by the id() of their parameter. Its thread ends with stop(), or when nobody has
    the owner any more: a model that was dropped with its hook."""

    def __init__(self, owner: Any, comm: Comm, codec: Codec, small: Codec, feedbacks: Dict[int, Feedback]) -> None:
        self.comm = comm
        self.error: Optional[BaseException] = None  # after it nothing can be exchanged
        self._codec, self._small, self._feedbacks = codec, small, feedbacks
        self._lossless = codec.traits.lossless
        self._layouts: Dict[Tuple[int, ...], Layout] = {}
        self._queue: "queue.SimpleQueue[Optional[_Exchange]]" = queue.SimpleQueue()
        self._owner = weakref.ref(owner, lambda _, put=self._queue.put: put(None))  # type: ignore[misc]
        self._gate = threading.Lock()  # of error
        self._stopping = False
        self._thread = threading.Thread(target=self._main, name="thinwire.torch", daemon=True)
        self._thread.start()

    def submit(self, buffer: Any, parameters: List[Any]) -> Any:
        """A future of `buffer`, which will hold the average. It holds the gradients of these parameters, one after
        another, and must be left alone until then."""
        if self.error is not None:
            raise self.error
        if buffer.layout is not torch.strided or buffer.is_complex():
            raise UnsupportedError(
                "gradients are %s, %s; accepted: dense ones of real numbers" % (buffer.dtype, buffer.layout)
            )
        exchange = _Exchange(buffer, self._values(buffer), self._layout(buffer.numel(), parameters))
        with self._gate:
            if self.error is not None:  # since
                raise self.error
            try:
                self._begin(exchange)
            except BaseException as error:
                self.error = error
                raise
            self._queue.put(exchange)
        return exchange.future

    def stop(self) -> None:
        """End the thread. Exchanges under way are not waited for: their futures fail."""
        if self._thread.is_alive():
            self._stopping = True
            self._queue.put(None)
            self._thread.join()

    # ---- what travels ----------------------------------------------------------------------------

    def _values(self, buffer: Any) -> Any:
        if buffer.dtype == torch.float32 or (buffer.dtype == torch.float64 and self._lossless):
            return buffer
        return buffer.float()

    def _layout(self, count: int, parameters: List[Any]) -> Layout:
        if self._lossless:
            return Layout([Part(0, count, None)], [])
        key = tuple(map(id, parameters))
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = self._make_layout(count, parameters)
        return found

    def _make_layout(self, count: int, parameters: List[Any]) -> Layout:
        made, start = Layout([], []), 0
        for parameter in parameters:
            end = start + length(parameter)
            if is_small(parameter):
                made.small.append((start, end))
            else:
                made.parts.append(Part(start, end, self._feedbacks.get(id(parameter))))
            start = end
        if start != count:
            raise UnsupportedError("a bucket of %d elements has parameters of %d" % (count, start))
        return made

    def _begin(self, exchange: _Exchange) -> None:
        codec = None if exchange.work.dtype == torch.float64 else self._codec
        for start, end, feedback in exchange.layout.parts:
            self._start(exchange, exchange.work[start:end], codec, feedback)
        if exchange.layout.small:
            exchange.small = torch.cat([exchange.work[start:end] for start, end in exchange.layout.small])
            self._start(exchange, exchange.small, self._small, None)

    def _start(self, exchange: _Exchange, values: Any, codec: Any, feedback: Optional[Feedback]) -> None:
        exchange.requests.append(
            self.comm.iallreduce(values, codec, op="average", out=values, feedback=feedback)
        )

    # ---- the thread ------------------------------------------------------------------------------

    def _main(self) -> None:
        while True:
            exchange = self._queue.get()
            if exchange is None:
                break
            try:
                self._complete(exchange)
            except BaseException as error:
                return self._fail(error, [exchange])
        self._fail(DeadError("the hook was freed"), [])
        if self._owner() is None:  # the communicator stays until the end of the program: freeing one is collective
            self._layouts.clear()
            self._feedbacks.clear()
            self.comm._sweep()

    def _complete(self, exchange: _Exchange) -> None:
        for request in exchange.requests:
            while not request.test(_LOOK):
                if self._stopping:
                    raise DeadError("the hook was freed")
        if exchange.small is not None:
            first = 0
            for start, end in exchange.layout.small:
                exchange.work[start:end] = exchange.small[first : first + end - start]
                first += end - start
        if exchange.work is not exchange.buffer:
            exchange.buffer.copy_(exchange.work)
        exchange.requests = []
        exchange.future.set_result(exchange.buffer)

    def _fail(self, error: BaseException, running: List[_Exchange]) -> None:
        """All that is under way, and all that comes."""
        with self._gate:  # what is not in the queue yet never gets there
            self.error = self.error or error
        while not self._queue.empty():
            last = self._queue.get()
            if last is not None:
                running.append(last)
        for exchange in running:  # backward then raises "Unable to cast [...] to Tensor"
            exchange.future.set_exception(Error("[thinwire %s: %s]" % (type(error).__name__, error)))
