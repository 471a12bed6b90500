# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/torch/_exchange.py - averages buckets of gradients, beside backward.

submit() starts the exchange of a bucket and returns a future at once. The library's own thread (Comm.start_progress())
encodes, sends and decodes, without Python. One thread here sleeps until exchanges are complete, without the GIL, and
completes the futures, in the order of the buckets.

What travels how is decided by the library (tw_buckets_start() in thinwire/buckets.h). It depends on the parameters, not
on the bucket, which DDP rebuilds after the first step, but for codecs that lose nothing.
"""
import ctypes
import queue
import threading
import weakref
from typing import Any, Dict, List, Optional

import torch

from thinwire import _c
from thinwire._buffers import MOST, dtype_number
from thinwire._calls import reduction
from thinwire.codec import Codec, find
from thinwire.comm import Comm
from thinwire.errors import DeadError, Error, UnsupportedError
from thinwire.feedback import Feedback
from thinwire.requests import Buckets, Request
from thinwire.torch._values import REALS, axes, codec_for, length

_LOOK = 0.1  # seconds between two looks whether to stop


class _Exchange:
    """A bucket under way."""

    __slots__ = ("buffer", "request", "future")

    def __init__(self, buffer: Any, request: Request) -> None:
        self.buffer = buffer  # DDP's, into which the average goes
        self.request = request  # of it itself, or of a copy as float32
        self.future: Any = torch.futures.Future()


class Exchanger:
    """Of one registration; feedbacks by the id() of their parameter. Its thread ends with stop(), or when nobody has
    the owner any more: a model that was dropped with its hook."""

    def __init__(self, owner: Any, comm: Comm, codec: Codec, small: Codec, feedbacks: Dict[int, Feedback]) -> None:
        self.comm = comm
        self.error: Optional[BaseException] = None  # after it nothing can be exchanged
        self._lossless, self._feedbacks = codec.traits.lossless, feedbacks
        self._codecs = (codec, small)
        self._configs: Dict[Any, Any] = {}  # of each dtype
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
        values = self._values(buffer)
        with self._gate:
            if self.error is not None:  # since
                raise self.error
            try:
                exchange = _Exchange(buffer, self._begin(values, parameters))
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
        exact = buffer.dtype in REALS and (buffer.dtype != torch.float64 or self._lossless)
        return buffer if exact else buffer.float()

    def _config(self, dtype: Any) -> Any:
        found = self._configs.get(dtype)
        if found is None:
            codec, small = (find(codec_for(codec, dtype), dtype_number(dtype)) for codec in self._codecs)
            found = _c.BucketsConfig(codec=codec, small_codec=small, bytes=MOST, reduction=reduction("average"))
            self._configs[dtype] = found
        return found

    def _begin(self, values: Any, parameters: List[Any]) -> Request:
        feedbacks = [self._feedbacks.get(id(parameter)) for parameter in parameters]
        tensors, address = (_c.BucketTensor * len(parameters))(), values.data_ptr()
        for tensor, parameter, feedback in zip(tensors, parameters, feedbacks):
            tensor.data, tensor.count, tensor.axes = address, length(parameter), axes(parameter)
            tensor.feedback = None if feedback is None else feedback._held()
            address += tensor.count * values.element_size()
        if address != values.data_ptr() + values.nbytes:
            raise UnsupportedError("a bucket of %d elements has parameters of other sizes" % values.numel())
        config = ctypes.addressof(self._config(values.dtype))
        arguments = self.comm._pointer, config, ctypes.addressof(tensors), len(tensors)
        return self.comm._begin("buckets_start", (arguments, (values, feedbacks), values), Buckets)

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
            self._feedbacks.clear()
            self.comm._sweep()

    def _complete(self, exchange: _Exchange) -> None:
        while not exchange.request.test(_LOOK):
            if self._stopping:
                raise DeadError("the hook was freed")
        if exchange.request.result is not exchange.buffer:
            exchange.buffer.copy_(exchange.request.result)
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
