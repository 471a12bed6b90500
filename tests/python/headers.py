# SPDX-License-Identifier: BSD-3-Clause
"""headers.py CC FLAGS... - compares thinwire/_c.py with the C headers: numbers, structs and prototypes.

A C program prints the numbers, and size and offsets of the structs; gcc's -aux-info, where CC is gcc, gives the
prototypes. Exit status 77: CC is not gcc, the prototypes were not compared.
"""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

from thinwire import _c

NUMBERS = {"TW_" + status.name: int(status) for status in _c.Status}
for _name in (
    "LOG_ERROR LOG_WARN LOG_INFO LOG_DEBUG LOG_TRACE F32 F64 BF16 F16 MEMORY_HOST MEMORY_CUDA BCAST_SAME "
    "ALGORITHM_AUTO FEEDBACK_SUM FEEDBACK_AVERAGE ANY_RANK MESSAGE_TAGS"
).split():
    NUMBERS["TW_" + _name] = getattr(_c, _name)


def program():
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <thinwire/thinwire.h>"]
    lines += ["#define N(name, value, text) n++;", "int main(void) {", "int n = 0;", "TW_STATUS_MAP(N)"]
    lines.append('printf("statuses %d\\n", n);')
    lines += ['printf("%s %%lld\\n", (long long)%s);' % (name, name) for name in NUMBERS]
    for name, kind in _c.STRUCTS.items():
        lines.append('printf("sizeof(%s) %%zu\\n", sizeof(%s));' % (name, name))
        for field, _ in kind._fields_:
            lines.append(
                'printf("%s.%s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));'
                % (name, field, name, field, name, field)
            )
    return "\n".join([*lines, "return 0; }", ""])


def expected():
    found = {"statuses": [len(_c.Status)], **{name: [value] for name, value in NUMBERS.items()}}
    for name, kind in _c.STRUCTS.items():
        found["sizeof(%s)" % name] = [ctypes.sizeof(kind)]
        for field, _ in kind._fields_:
            place = getattr(kind, field)
            found["%s.%s" % (name, field)] = [place.offset, place.size]
    return found


def kind_of(text):
    """What ctypes calls a type of the headers."""
    text = text.replace("const ", "").strip()
    if text == "const char *" or text == "char *":
        return "pointer"
    if "*" in text or text == "tw_log_fn_t":
        return "pointer"
    if text == "MPI_Comm":
        return "MPI_Comm"
    return {"void": None, "size_t": ctypes.c_size_t, "double": ctypes.c_double}.get(text, ctypes.c_int)


def ours(kind):
    if kind is _c.MPI_COMM:
        return "MPI_Comm"
    if kind in (ctypes.c_void_p, ctypes.c_char_p, _c.LOG_FUNCTION) or hasattr(kind, "contents"):
        return "pointer"
    return kind


def prototypes(text):
    """Name to what it returns and takes, of gcc's list."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"/\*.*?\*/ extern (.*?)\b(tw_\w+) \((.*)\);$", line)
        if match:
            arguments = [] if match.group(3) == "void" else match.group(3).split(", ")
            found[match.group(2)] = (kind_of(match.group(1)), [kind_of(argument) for argument in arguments])
    return found


def compare(what, got, want):
    wrong = ["%s: the headers say %s, _c.py %s" % (name, got.get(name), want[name]) for name in want if got.get(name) != want[name]]
    print("%d %s compared" % (len(want), what))
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    cc, flags = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        source, made = os.path.join(folder, "numbers.c"), os.path.join(folder, "numbers")
        with open(source, "w") as stream:
            stream.write(program())
        subprocess.run([*cc.split(), *flags, "-o", made, source], check=True)
        printed = subprocess.run([made], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        got = {line.split()[0]: [int(word) for word in line.split()[1:]] for line in printed.splitlines()}
        compare("numbers, sizes and offsets", got, expected())
        listed = os.path.join(folder, "list")
        ended = subprocess.run([*cc.split(), *flags, "-aux-info", listed, "-fsyntax-only", source])
        if ended.returncode != 0 or not os.path.exists(listed):
            sys.exit(77)
        with open(listed) as stream:
            found = prototypes(stream.read())
    compare("prototypes", found, {name: (ours(p[0]), [ours(a) for a in p[1]]) for name, p in _c.PROTOTYPES.items()})


main()
