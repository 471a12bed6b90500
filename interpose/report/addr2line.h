/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/addr2line.h - functions and lines of addresses, asked of the program of that
 * name.
 */
#ifndef TW_INTERPOSE_ADDR2LINE_H
#define TW_INTERPOSE_ADDR2LINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct tw_answer {
    char function[160]; /* demangled; "" unknown   */
    char place[96];     /* "file.c:123", "" unknown */
} tw_answer_t;

/* Ask for `count` addresses of the object at path, as its own tables count them. Returns how many
 * of the answers, from the first on, were given within the limit; -1 if there is no such program.
 * Leaves no process and no descriptor behind. */
int tw_addr2line(const char *path, const uint64_t *addresses, size_t count, tw_answer_t *answers,
                 uint64_t limit_ns);

#endif /* TW_INTERPOSE_ADDR2LINE_H */
