#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# No two files that may be in one program define the same tag or typedef (tags.awk): a pointer to the one
# passed as the other compiles, as long as no file sees both.
cd "$top_srcdir" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
echo 1..3

sources=$(find command include runtime interpose scaling simulation tools train tests -name '*.[ch]' -o -name '*.cu' | sort)
# shellcheck disable=SC2086  # file names without blanks
if awk -f tests/base/tags.awk $sources >"$scratch/out"; then
    echo "ok 1 - no type name twice in $(wc -w <<<"$sources") files"
else
    sed 's/^/# /' "$scratch/out"
    echo "not ok 1 - no type name twice"
fi

# It finds what it is for: each form of a definition, and no more than that.
cat >"$scratch/a.h" <<'C'
struct tag { int x; }; /* struct comment { */
typedef struct { struct inner { int y; } z; } anonymous_t;
typedef int (*call_t)(int a, void *b);
typedef enum choice {
    ONE, /* { */
    TWO
} choice_t;
union both
{
    int x;
};
typedef float row_t[4];
typedef struct ahead ahead_t;
static const char *text = "struct string {";
static inline int f(struct use *u) { struct local l = {0}; return u->x + l.x; }
C
cat >"$scratch/b.h" <<'C'
struct tag { float x; };
typedef union { int y; } anonymous_t;
typedef long (*call_t)(int a);
typedef enum choice { THREE } choice_t; struct inner { int x; };
union both { int x; };
typedef float row_t[5];
typedef struct ahead ahead_t;
struct comment; struct string; struct use; struct local *p;
C
awk -f tests/base/tags.awk "$scratch/a.h" "$scratch/b.h" | sed 's/:.*//' | sort | paste -s -d , >"$scratch/out"
if [ "$(cat "$scratch/out")" = "anonymous_t,call_t,choice_t,row_t,tag both,tag choice,tag inner,tag tag" ]; then
    echo "ok 2 - each form of a second definition is found"
else
    echo "# found: $(cat "$scratch/out")"
    echo "not ok 2 - each form of a second definition is found"
fi

# Versions for different processors, and programs of one folder of tests, may share names; helpers may not.
mkdir -p "$scratch/tests/x"
for name in sum.c sum_avx2.c tests/x/one.c tests/x/two.c; do
    sed "s/\(tag\|both\|inner\|ahead\|choice\|anonymous\|call\|row\)/\1_${name%%[_/.]*}/g" "$scratch/a.h" >"$scratch/$name"
done
cp "$scratch/tests/x/one.c" "$scratch/tests/x/help.h"
if awk -f tests/base/tags.awk "$scratch"/sum*.c "$scratch"/tests/x/*.c && ! awk -f tests/base/tags.awk "$scratch"/tests/x/* >/dev/null; then
    echo "ok 3 - files that are never in one program may share names"
else
    echo "not ok 3 - files that are never in one program may share names"
fi
