# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m thinwire - which library the package uses."""
import thinwire

print("thinwire %s, %s: %s" % (thinwire.__version__, thinwire.library, thinwire.build))
