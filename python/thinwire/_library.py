# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_library.py - finds and loads libthinwire.so, and gives its functions their prototypes.

That is when the first of them is needed, or libthinwire-store.so, without MPI, where that is Comm.from_store(). Looked
at in this order: the file that THINWIRE_LIBRARY names (or the other library beside it); the folder that pkg-config
named when the package was installed, or else that of the build beside it (_found.py, which setup.py writes); where the
dynamic linker looks. The version must be the package's up to the second number. Loading calls neither MPI nor the
library.
"""
import ctypes
import os
import threading
from typing import Any, List

from thinwire import _c
from thinwire._version import __version__
from thinwire.errors import LibraryError

NAME = "libthinwire.so.0"
STORE = "libthinwire-store.so.0"  # the same without MPI
_REMEDY = "set THINWIRE_LIBRARY to its path, or install it where the dynamic linker looks"


class _Place(ctypes.Structure):  # Dl_info of dladdr(3)
    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def address_of(function: Any) -> int:
    """Where a function of a ctypes library is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def file_of(function: Any) -> str:
    """The shared object that a function of a ctypes library is in."""
    place = _Place()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address_of(function)), ctypes.byref(place))
    return os.fsdecode(place.file) if place.file else "?"


def _candidates(name: str) -> List[str]:
    named = os.environ.get("THINWIRE_LIBRARY")
    if named:
        named = os.path.abspath(named)
        beside = os.path.basename(named).replace("libthinwire.so", STORE[:-2])
        return [named if name == NAME else os.path.join(os.path.dirname(named), beside)]
    try:
        from thinwire._found import LIBDIR  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return [name]
    return [os.path.join(LIBDIR, name), name]


def _open(name: str) -> ctypes.CDLL:
    refusals = []
    for path in _candidates(name):
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            refusals.append(" ".join(str(error).split()))
    raise LibraryError(name.split(".")[0] + " cannot be loaded: " + "; ".join(refusals) + "; " + _REMEDY)


def _check_version(library: ctypes.CDLL) -> None:
    try:
        library.tw_version.restype = ctypes.c_char_p
        version = library.tw_version().decode()
    except AttributeError:
        raise LibraryError(library._name + " is no libthinwire: it has no tw_version; " + _REMEDY) from None
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise LibraryError(
            "%s is version %s, the Python package %s: install both from the same release"
            % (file_of(library.tw_version), version, __version__)
        )


def _declare(library: ctypes.CDLL, comm_type: Any, absent: str) -> None:
    for name, (result, arguments) in _c.PROTOTYPES.items():
        if name == absent:
            continue
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryError("%s has no %s; %s" % (file_of(library.tw_version), name, _REMEDY)) from None
        function.restype = result
        function.argtypes = [comm_type if kind is _c.MPI_COMM else kind for kind in arguments]


class _Library:
    """The library's functions and what follows, loaded when one is asked for; from then on they are attributes."""

    CDLL: ctypes.CDLL
    MPI: bool  # it is not the one without
    OPEN_MPI: bool
    MPI_COMM: Any  # a handle of Open MPI is the address of an object, one of MPICH and its relatives a number
    PATH: str
    BUILD: str
    IN_PLACE: int

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def load(self, name: str) -> None:
        """Unless one is loaded."""
        with self._lock:
            if "CDLL" in self.__dict__:
                return
            library = _open(name)
            _check_version(library)
            self.MPI = hasattr(library, "tw_comm_create")
            self.OPEN_MPI = hasattr(library, "ompi_mpi_comm_world")
            self.MPI_COMM = ctypes.c_void_p if self.OPEN_MPI else ctypes.c_int
            _declare(library, self.MPI_COMM, "tw_comm_create_store" if self.MPI else "tw_comm_create")
            self.PATH = file_of(library.tw_version)
            self.BUILD = library.tw_build().decode()
            self.IN_PLACE = ctypes.addressof(ctypes.c_char.in_dll(library, "tw_in_place_mark"))
            self.CDLL = library

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.load(NAME)
        if name not in self.__dict__:
            setattr(self, name, getattr(self.CDLL, name))
        return self.__dict__[name]


lib = _Library()


def without_mpi() -> None:
    """Have the library without MPI, or LibraryError."""
    lib.load(STORE)
    if lib.MPI:
        raise LibraryError(
            "%s is loaded, which needs MPI: call Comm.from_store() before anything else of thinwire, or set "
            "THINWIRE_LIBRARY to %s" % (lib.PATH, STORE)
        )
