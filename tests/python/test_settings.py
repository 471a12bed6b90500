# SPDX-License-Identifier: BSD-3-Clause
"""A malformed setting (THINWIRE_CHUNK=lots, set by python.sh) is an exception on every rank."""
from common import world

import thinwire

try:
    thinwire.Comm(world)
except thinwire.SettingError as error:
    assert isinstance(error, ValueError) and len(str(error).splitlines()) == 1, error
    print("refused: %s" % error)
