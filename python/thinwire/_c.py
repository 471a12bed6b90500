# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_c.py - what the headers in include/thinwire declare, for ctypes.

Written by hand, and only what the package calls; tests/python/headers.py compares numbers, structs and prototypes
with the C headers. Pointers are c_void_p: the package passes addresses. MPI_COMM stands for MPI_Comm, whose type
depends on the MPI library (_library.py).
"""
import enum
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint64,
    c_void_p,
)
from typing import Any, Dict, List, Tuple

# ---- numbers -------------------------------------------------------------------------------------


class Status(enum.IntEnum):
    OK = 0
    ERR_INVALID_ARG = -1
    ERR_UNSUPPORTED = -2
    ERR_NO_MEMORY = -3
    ERR_RANGE = -4
    ERR_SPEC = -5
    ERR_SETTING = -6
    ERR_MISMATCH = -7
    ERR_MPI = -8
    ERR_TIMEOUT = -9
    ERR_DEAD = -10
    ERR_BUSY = -11
    ERR_IO = -12
    ERR_FORMAT = -13
    ERR_NETWORK = -14


LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE = range(5)
F32, F64, BF16, F16 = range(4)
MEMORY_HOST, MEMORY_CUDA = 0, 1
ALGORITHM_AUTO = 0
BCAST_SAME = 1
ANY_RANK, MESSAGE_TAGS = -1, 16384
FEEDBACK_SUM, FEEDBACK_AVERAGE = 0, 1

# ---- structs -------------------------------------------------------------------------------------


class Exec(Structure):
    _fields_ = [("memory", c_int), ("stream", c_void_p), ("threads", c_int)]


class CodecTraits(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("isa", c_char_p),
        ("id", c_uint8),
        ("dtype", c_int),
        ("block", c_size_t),
        ("bytes", c_double),
        ("lossless", c_int),
        ("feedback", c_int),
        ("max_error", c_double),
        ("identity", c_int),
        ("chooses", c_int),
        ("finer", c_char_p),
    ]


class How(Structure):
    _fields_ = [
        ("codec", c_void_p),
        ("exec", c_void_p),
        ("feedback", c_void_p),
        ("algorithm", c_int),
        ("flags", c_uint),
    ]


class Stats(Structure):
    _fields_ = [
        ("calls", c_uint64),
        ("messages_sent", c_uint64),
        ("bytes_sent", c_uint64),
        ("bytes_received", c_uint64),
        ("bytes_uncompressed", c_uint64),
        ("quantisations", c_uint64),
        ("encode_ns", c_uint64),
        ("decode_ns", c_uint64),
        ("wait_ns", c_uint64),
        ("pool_allocations", c_uint64),
        ("pool_bytes", c_uint64),
        ("bytes_network", c_uint64),
        ("bytes_memory", c_uint64),
        ("bytes_elements", c_uint64),
    ]


class BucketTensor(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("count", c_size_t),
        ("codec", c_char_p),
        ("axes", c_int),
        ("feedback", c_void_p),
    ]


class BucketsConfig(Structure):
    _fields_ = [
        ("codec", c_void_p),
        ("bytes", c_size_t),
        ("small", c_size_t),
        ("small_codec", c_void_p),
        ("reduction", c_int),
        ("algorithm", c_int),
        ("exec", c_void_p),
        ("trace", c_void_p),
    ]


STORE_PUT = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t)
STORE_GET = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t, c_double)


class Store(Structure):
    _fields_ = [("user", c_void_p), ("put", STORE_PUT), ("get", STORE_GET)]


STRUCTS = {
    "tw_exec_t": Exec,
    "tw_codec_traits_t": CodecTraits,
    "tw_how_t": How,
    "tw_stats_t": Stats,
    "tw_bucket_tensor_t": BucketTensor,
    "tw_buckets_config_t": BucketsConfig,
    "tw_store_t": Store,
}

# ---- functions -----------------------------------------------------------------------------------

MPI_COMM = object()
LOG_FUNCTION = CFUNCTYPE(None, c_void_p, c_int, c_int, c_char_p)

# name: what it returns, its arguments
PROTOTYPES: Dict[str, Tuple[Any, List[Any]]] = {
    "tw_version": (c_char_p, []),
    "tw_build": (c_char_p, []),
    "tw_status_text": (c_char_p, [c_int]),
    "tw_context_create": (c_int, [c_void_p]),
    "tw_context_set_log": (c_int, [c_void_p, LOG_FUNCTION, c_void_p]),
    "tw_reduction_name": (c_char_p, [c_int]),
    "tw_algorithm_name": (c_char_p, [c_int]),
    "tw_tensor_is_small": (c_int, [c_size_t, c_int]),
    "tw_codec_create": (c_int, [c_void_p, c_char_p, c_int, c_void_p, c_void_p, c_size_t]),
    "tw_codec_bytes": (c_void_p, []),
    "tw_codec_spec": (c_char_p, [c_void_p]),
    "tw_codec_traits": (c_int, [c_void_p, c_void_p]),
    "tw_codec_size": (c_int, [c_void_p, c_size_t, c_void_p]),
    "tw_codec_encode": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]),
    "tw_codec_encode_feedback": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]),
    "tw_codec_decode": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]),
    "tw_comm_create": (c_int, [c_void_p, MPI_COMM, c_void_p]),  # the one or the other
    "tw_comm_create_store": (c_int, [c_void_p, c_int, c_int, c_void_p, c_char_p, c_char_p, c_void_p]),
    "tw_comm_destroy": (c_int, [c_void_p]),
    "tw_comm_rank": (c_int, [c_void_p]),
    "tw_comm_size": (c_int, [c_void_p]),
    "tw_comm_node": (c_int, [c_void_p, c_int]),
    "tw_comm_advance": (c_int, [c_void_p]),
    "tw_comm_start_progress": (c_int, [c_void_p]),
    "tw_comm_set_timeout": (c_int, [c_void_p, c_double]),
    "tw_comm_abort": (c_int, [c_void_p]),
    "tw_comm_stats": (c_int, [c_void_p, c_void_p]),
    "tw_comm_stats_reset": (c_int, [c_void_p]),
    "tw_start": (c_int, [c_void_p]),
    "tw_wait": (c_int, [c_void_p]),
    "tw_wait_for": (c_int, [c_void_p, c_int, POINTER(c_int)]),
    "tw_request_free": (c_int, [c_void_p]),
    "tw_request_algorithm": (c_char_p, [c_void_p]),
    "tw_request_codec": (c_char_p, [c_void_p]),
    "tw_message_send": (c_int, [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p]),
    "tw_message_recv": (c_int, [c_void_p, c_void_p, c_size_t, c_int, c_int, c_void_p]),
    "tw_message_test": (c_int, [c_void_p, POINTER(c_int), POINTER(c_int)]),
    "tw_buckets_start": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p]),
    "tw_buckets_wait_for": (c_int, [c_void_p, c_int, POINTER(c_int)]),
    "tw_feedback_create": (c_int, [c_void_p, c_char_p, c_int, c_size_t, c_void_p]),
    "tw_feedback_destroy": (None, [c_void_p]),
    "tw_feedback_clear": (c_int, [c_void_p]),
    "tw_feedback_norm": (c_int, [c_void_p, POINTER(c_double)]),
    "tw_feedback_read": (c_int, [c_void_p, c_void_p]),
    "tw_feedback_save": (c_int, [c_void_p, c_void_p]),
    "tw_feedback_restore": (c_int, [c_void_p, c_void_p, c_int]),
}

# Between the communicator and `how`; each also as tw_iNAME and tw_NAME_init, with a request behind `how`.
COLLECTIVES: Dict[str, List[Any]] = {
    "bcast": [c_void_p, c_size_t, c_int],
    "allgather": [c_void_p, c_void_p, c_size_t],
    "allgatherv": [c_void_p, c_void_p, c_void_p, c_void_p],
    "alltoall": [c_void_p, c_void_p, c_size_t],
    "alltoallv": [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p],
    "scatter": [c_void_p, c_void_p, c_size_t, c_int],
    "scatterv": [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_int],
    "gather": [c_void_p, c_void_p, c_size_t, c_int],
    "gatherv": [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_int],
    "allreduce": [c_void_p, c_void_p, c_size_t, c_int],
    "reduce": [c_void_p, c_void_p, c_size_t, c_int, c_int],
    "reduce_scatter": [c_void_p, c_void_p, c_void_p, c_int],
    "reduce_scatter_block": [c_void_p, c_void_p, c_size_t, c_int],
}
for _name, _arguments in COLLECTIVES.items():
    _arguments = [c_void_p, *_arguments, c_void_p]
    PROTOTYPES["tw_" + _name] = (c_int, _arguments)
    PROTOTYPES["tw_i" + _name] = (c_int, [*_arguments, c_void_p])
    PROTOTYPES["tw_" + _name + "_init"] = (c_int, [*_arguments, c_void_p])
