# SPDX-License-Identifier: BSD-3-Clause
"""snippets.py FILE.md FOLDER - writes each block of Python that a document shows to FOLDER/N.py, and prints how many."""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as stream:
    blocks = re.findall(r"^```python\n(.*?)^```$", stream.read(), re.MULTILINE | re.DOTALL)
for number, block in enumerate(blocks, 1):
    with open("%s/%d.py" % (sys.argv[2], number), "w", encoding="utf-8") as stream:
        stream.write(block)
print(len(blocks))
