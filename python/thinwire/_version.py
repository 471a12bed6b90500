# SPDX-License-Identifier: BSD-3-Clause
"""thinwire/_version.py - the version of the package; that of configure.ac, which a test compares."""
__version__ = "0.1.0"
