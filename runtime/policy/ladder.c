/* SPDX-License-Identifier: BSD-3-Clause
 * policy/ladder.c - the next codec with a smaller error, for the error contract of the drop-in.
 */
#include "config.h"

#include <string.h>

#include "runtime/policy/rules.h"

/* Rungs of floats, by the name of a spec; what is missing here goes to off. Options do not matter:
 * blocks and offsets change a codec less than a rung does. */
static const struct {
    const char *name, *next;
} tw_ladder_floats[] = {
    {"onebit", "tree8"},   {"tree8", "bf16"},     {"int8", "bf16"},      {"static8", "bf16"},
    {"mantissa8", "bf16"}, {"bf16", "bitpack:3"}, {"fp16", "bitpack:3"},
};

static const char *const tw_ladder_bitpack[2][8] = {
    {"", "", "bitpack:2", "bitpack:3", "bitpack:4", "bitpack:5", "bitpack:6", "bitpack:7"},
    {"", "", "bitpack:2,round", "bitpack:3,round", "bitpack:4,round", "bitpack:5,round",
     "bitpack:6,round", "bitpack:7,round"},
};

static bool tw_ladder_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* K of ":K", ":K,round" or ":round,K"; 0 where there is none. */
static int tw_ladder_bytes(const char *options, bool *round_p)
{
    int bytes = 0;

    *round_p = false;
    while (*options != '\0') {
        const char  *option = options + 1; /* after a colon or a comma */
        const size_t length = strcspn(option, ",");

        if (length == 1 && option[0] >= '1' && option[0] <= '8') {
            bytes = option[0] - '0';
        } else if (tw_ladder_is(option, length, "round")) {
            *round_p = true;
        }
        options = option + length;
    }
    return bytes;
}

static const char *tw_ladder_next_bitpack(const char *options, bool wide, bool narrow)
{
    bool      rounds;
    const int bytes = tw_ladder_bytes(options, &rounds);

    if (wide && (!narrow || bytes > 4)) { /* more than 4 bytes cannot be those of a float */
        return bytes >= 1 && bytes < 7 ? tw_ladder_bitpack[rounds][bytes + 1] : "";
    }
    if (bytes == 1) {
        return "bf16";
    }
    return bytes == 2 ? tw_ladder_bitpack[rounds][3] : "";
}

const char *tw_ladder_next(const char *spec, bool wide, bool narrow)
{
    const size_t length = strcspn(spec, ":");

    if (tw_ladder_is(spec, length, "bitpack")) {
        return tw_ladder_next_bitpack(spec + length, wide, narrow);
    }
    if (wide && !narrow) {
        return "";
    }
    for (size_t i = 0; i < sizeof(tw_ladder_floats) / sizeof(tw_ladder_floats[0]); i++) {
        if (tw_ladder_is(spec, length, tw_ladder_floats[i].name)) {
            return tw_ladder_floats[i].next;
        }
    }
    return "";
}
