# SPDX-License-Identifier: BSD-3-Clause
"""snippets.py FILE.md FOLDER [torch] - writes each block of Python that a document shows to FOLDER/N.py, and prints how
many: of those that import torch, or of the others."""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as stream:
    blocks = re.findall(r"^```python\n(.*?)^```$", stream.read(), re.MULTILINE | re.DOTALL)
blocks = [block for block in blocks if bool(re.search(r"^import (thinwire\.)?torch", block, re.MULTILINE)) == (sys.argv[3:] == ["torch"])]
for number, block in enumerate(blocks, 1):
    with open("%s/%d.py" % (sys.argv[2], number), "w", encoding="utf-8") as stream:
        stream.write(block)
print(len(blocks))
