# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_mpi.py - MPI: whose it is, communicators of mpi4py, and its start and end where the package does these.

mpi4py and libthinwire must have the same MPI library loaded; otherwise a communicator of the one is nonsense to the
other. That is found out by the address of an MPI function, without calling anything.
"""
import atexit
import ctypes
import importlib.util
import os
import sys
from typing import Any, Dict, Sequence, Tuple

from thinwire._library import address_of, file_of, lib
from thinwire.errors import InvalidArgumentError, InvalidTypeError, LibraryError, MPIError

_MPICH_WORLD = 0x44000000
_THREAD_MULTIPLE = 3
STRANGERS = "mpirun is of another MPI library than thinwire: each of %d processes is rank 0 of 1 (python3 -m thinwire)"
_LONGEST_VERSION = 8192  # bytes; MPI_MAX_LIBRARY_VERSION_STRING is less everywhere
_TAG = 117  # on MPI_COMM_WORLD, of MPI_Comm_create_group

alive: Dict[int, Any] = {}  # communicators that are not freed, in the order in which they were made
_mine = False  # this package has initialised MPI
_failed = False  # an exception ends the program
_checked = False  # mpi4py has the same MPI
_watcher = 0  # the process that has called watch()


def _function(name: str) -> Any:
    """The function that libthinwire itself calls by this name: an interposer's, if there is one."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except AttributeError:
        return getattr(lib, name)


def _flag(name: str) -> bool:
    value = ctypes.c_int()
    _function(name)(ctypes.byref(value))
    return bool(value.value)


def _world() -> Any:
    if lib.OPEN_MPI:
        return lib.MPI_COMM(ctypes.addressof(ctypes.c_char.in_dll(lib.CDLL, "ompi_mpi_comm_world")))
    return lib.MPI_COMM(_MPICH_WORLD)


def _ranks() -> int:
    value = ctypes.c_int()
    _function("MPI_Comm_size")(_world(), ctypes.byref(value))
    return value.value


def strangers() -> int:
    """How many processes an mpirun of another MPI library has started, each of which is alone then; 0: none has."""
    if lib.OPEN_MPI:  # PMI_SIZE alone may come from Slurm; the others are hydra's
        hydra = "HYDI_CONTROL_FD" in os.environ or "MPI_LOCALNRANKS" in os.environ
        count = os.environ.get("PMI_SIZE", "") if hydra else ""
    else:
        count = os.environ.get("OMPI_COMM_WORLD_SIZE", "")
    return int(count) if count.isdigit() and int(count) > 1 and _ranks() == 1 else 0


def _check_mpi4py(path: str) -> None:
    """path: the shared object of mpi4py.MPI, loaded or not."""
    global _checked
    if _checked:
        return
    ours = lib.MPI_Get_library_version
    try:
        theirs = ctypes.CDLL(path, mode=os.RTLD_LAZY).MPI_Get_library_version
    except (AttributeError, OSError):
        theirs = None
    if theirs is None or address_of(ours) != address_of(theirs):
        raise LibraryError(
            "mpi4py uses %s%s, but %s uses %s (%s): both must be built with the same MPI library"
            % (
                file_of(theirs) if theirs is not None else path,
                " (%s)" % _version(theirs) if theirs is not None else "",
                lib.PATH,
                file_of(ours),
                lib.BUILD[lib.BUILD.find("MPI by") :].split(",")[0],
            )
        )
    _checked = True


def _version(function: Any) -> str:
    """What MPI_Get_library_version, which may be called at any time, begins with."""
    text, length = ctypes.create_string_buffer(_LONGEST_VERSION), ctypes.c_int()
    function(text, ctypes.byref(length))
    return " ".join(text.value.decode(errors="replace").split(",")[0].split("\n")[0].split())


class _Guard:
    """Checks an mpi4py that is imported after MPI was initialised here: Open MPI then makes its functions global, and
    an mpi4py of another MPI would call these, with handles that are none of theirs."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "mpi4py.MPI" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)  # find_spec() asks all
        try:
            found = importlib.util.find_spec(name)
            if found is not None and found.origin is not None:
                _check_mpi4py(found.origin)
        finally:
            sys.meta_path.insert(0, self)  # for who tries again
        return found


def _of_mpi4py(MPI: Any, comm: Any) -> Any:
    if comm == MPI.COMM_NULL:
        raise InvalidArgumentError("comm is MPI.COMM_NULL; accepted: an intracommunicator of mpi4py, or None")
    return lib.MPI_COMM.from_address(MPI._addressof(comm))


def _initialise() -> None:
    global _mine
    provided = ctypes.c_int()
    if _function("MPI_Init_thread")(None, None, _THREAD_MULTIPLE, ctypes.byref(provided)) != 0:
        raise MPIError("MPI_Init_thread failed")
    _mine = True
    sys.meta_path.insert(0, _Guard())
    if strangers() and sys.stderr is not None:
        sys.stderr.write("thinwire: warning: %s\n" % STRANGERS % strangers())


def handle(comm: Any) -> Any:
    """The MPI_Comm of a communicator of mpi4py, or of MPI_COMM_WORLD for None; MPI is initialised if need be."""
    MPI = sys.modules.get("mpi4py.MPI")
    if isinstance(comm, _Group):
        return comm.handle
    if comm is not None and (MPI is None or not isinstance(comm, MPI.Comm)):
        raise InvalidTypeError(
            "comm is of type %s; accepted: an intracommunicator of mpi4py, or None" % type(comm).__name__
        )
    if not lib.MPI:
        raise LibraryError("%s has no MPI; accepted: Comm.from_store()" % lib.PATH)
    if MPI is not None:
        _check_mpi4py(str(MPI.__file__))
    if _flag("MPI_Finalized"):
        raise InvalidArgumentError("MPI is finalised already")
    if not _flag("MPI_Initialized"):
        if MPI is not None:
            raise InvalidArgumentError("MPI is not initialised: call mpi4py's MPI.Init() or MPI.Init_thread() first")
        _initialise()
    watch()
    return _world() if comm is None else _of_mpi4py(MPI, comm)


# ---- without mpi4py: some of the ranks -----------------------------------------------------------


class _Group:
    """A communicator of some ranks of MPI_COMM_WORLD, for a `with` in which Comm() duplicates it."""

    def __init__(self, ranks: Sequence[int]) -> None:
        whole, part = type(_world())(), type(_world())()
        self.handle = type(_world())()
        numbers = (ctypes.c_int * len(ranks))(*ranks)
        _must("MPI_Comm_group", _world(), ctypes.byref(whole))
        _must("MPI_Group_incl", whole, len(ranks), numbers, ctypes.byref(part))
        _must("MPI_Comm_create_group", _world(), part, _TAG, ctypes.byref(self.handle))
        for group in (part, whole):
            _must("MPI_Group_free", ctypes.byref(group))

    def __enter__(self) -> "_Group":
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        if kind is None:
            _must("MPI_Comm_free", ctypes.byref(self.handle))


def _must(name: str, *arguments: Any) -> None:
    if _function(name)(*arguments) != 0:
        raise MPIError(name + " failed")


def of_ranks(ranks: Sequence[int]) -> _Group:
    """For `with of_ranks(ranks) as group: Comm(group)`, collective over these ranks of MPI_COMM_WORLD."""
    handle(None)
    return _Group(ranks)


def rank_and_size() -> Tuple[int, int]:
    """Of MPI_COMM_WORLD; MPI is initialised if need be."""
    value = ctypes.c_int()
    _must("MPI_Comm_rank", handle(None), ctypes.byref(value))
    return value.value, _ranks()


def multiple() -> bool:
    """Whether several threads may call MPI at a time."""
    level = ctypes.c_int()
    _must("MPI_Query_thread", ctypes.byref(level))
    return level.value == _THREAD_MULTIPLE


# ---- the end -------------------------------------------------------------------------------------


def watch() -> None:
    """Have _finish() called at the end, and know there whether an exception was the reason."""
    global _watcher
    if _watcher:
        return
    _watcher = os.getpid()
    before = sys.excepthook

    def hook(kind: Any, value: Any, trace: Any) -> None:
        global _failed
        _failed = True
        before(kind, value, trace)

    sys.excepthook = hook
    atexit.register(_finish)


def _finish() -> None:
    """Free what is left and finalise MPI, as all ranks do; a rank that fails cannot wait for the others. A child of
    os.fork() is no rank."""
    if os.getpid() != _watcher or (lib.MPI and _flag("MPI_Finalized")):
        return
    if _failed:
        if _mine and _ranks() > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            _function("MPI_Abort")(_world(), 1)
        return
    for comm in list(alive.values()):
        comm._free_at_exit()
    if _mine:
        _function("MPI_Finalize")()
