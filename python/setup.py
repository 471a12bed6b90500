# SPDX-License-Identifier: BSD-3-Clause
"""Beside pyproject.toml: writes down in which folder libthinwire is, if pkg-config knows it or ./quickstart has built it
in the source that this is a part of (see _library.py)."""
import os
import subprocess

import setuptools
from setuptools import setup
from setuptools.command.build_py import build_py

if int(setuptools.__version__.split(".")[0]) < 61:  # older ones do not read pyproject.toml, and install "UNKNOWN"
    raise SystemExit("setuptools is %s; needed: 61 or newer (pip install -U setuptools)" % setuptools.__version__)


def installed():
    try:
        return subprocess.run(
            [os.environ.get("PKG_CONFIG", "pkg-config"), "--variable=libdir", "thinwire"],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def built():
    found = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "lib")
    return found if os.path.exists(os.path.join(found, "libthinwire.so.0")) else ""


class Build(build_py):
    def run(self):
        super().run()
        found, path = installed() or built(), os.path.join(self.build_lib, "thinwire", "_found.py")
        if found:
            with open(path, "w") as stream:
                stream.write("# Written by setup.py.\nLIBDIR = %r\n" % found)
        elif os.path.exists(path):  # of an earlier installation from this folder
            os.remove(path)


setup(cmdclass={"build_py": Build})
