# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_library.py - finds and loads libthinwire.so, and gives its functions their prototypes.

Looked at in this order: the file that THINWIRE_LIBRARY names; the folder that pkg-config named when the package was
installed, or else that of the build beside it (_found.py, which setup.py writes); where the dynamic linker looks. The version must be the package's up to
the second number. Loading calls neither MPI nor the library.
"""
import ctypes
import os
from typing import Any, List

from thinwire import _c
from thinwire._version import __version__
from thinwire.errors import LibraryError

NAME = "libthinwire.so.0"
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


def _candidates() -> List[str]:
    named = os.environ.get("THINWIRE_LIBRARY")
    if named:
        return [os.path.abspath(named)]
    try:
        from thinwire._found import LIBDIR  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return [NAME]
    return [os.path.join(LIBDIR, NAME), NAME]


def _open() -> ctypes.CDLL:
    refusals = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            refusals.append(" ".join(str(error).split()))
    raise LibraryError("libthinwire cannot be loaded: " + "; ".join(refusals) + "; " + _REMEDY)


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


def _declare(library: ctypes.CDLL, comm_type: Any) -> None:
    for name, (result, arguments) in _c.PROTOTYPES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryError("%s has no %s; %s" % (file_of(library.tw_version), name, _REMEDY)) from None
        function.restype = result
        function.argtypes = [comm_type if kind is _c.MPI_COMM else kind for kind in arguments]


lib = _open()
_check_version(lib)
# A handle of Open MPI is the address of an object, one of MPICH and its relatives a number.
OPEN_MPI = hasattr(lib, "ompi_mpi_comm_world")
MPI_COMM = ctypes.c_void_p if OPEN_MPI else ctypes.c_int
_declare(lib, MPI_COMM)

PATH = file_of(lib.tw_version)
BUILD = lib.tw_build().decode()
IN_PLACE = ctypes.addressof(ctypes.c_char.in_dll(lib, "tw_in_place_mark"))
