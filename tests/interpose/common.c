/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/common.c - the expectation, the library that must be loaded, fewer calls.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/common.h"

t_expectation_t t_expectation;

int t_thin(void)
{
    const char *text = getenv("TW_THIN");
    const int   thin = text != NULL ? atoi(text) : 1;

    return thin > 1 ? thin : 1;
}

bool t_chosen(uint64_t seed)
{
    return t_mix(seed) % (uint64_t)t_thin() == 0;
}

static bool expectation_parse(const char *text)
{
    if (strcmp(text, "exact") == 0) {
        t_expectation.kind = T_EXACT;
        return true;
    }
    if (strcmp(text, "representable") == 0) {
        t_expectation.kind = T_REPRESENTABLE;
        return true;
    }
    t_expectation.kind = T_LOSSY;
    return sscanf(text, "lossy:%lf:%lf", &t_expectation.rel_float, &t_expectation.rel_double) >= 1;
}

/* Was the library loaded that this run is about? */
static bool preloaded(void)
{
    const char *name = getenv("TW_PRELOADED");
    FILE       *maps;
    char        line[4096];
    bool        found = false;

    if (name == NULL || *name == '\0') {
        return true;
    }
    maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
        found = strstr(line, name) != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static const char *set_up(int argc, char **argv)
{
    if (argc != 3 || !expectation_parse(argv[1])) {
        return "usage: EXPECTATION RANKS";
    }
    return preloaded() ? NULL : "the library of TW_PRELOADED is not loaded";
}

int t_main(int argc, char **argv, const t_case_t *cases, size_t count)
{
    static const t_rig_t rig = {T_RANKS_MAX, set_up, NULL};

    return t_run(argc, argv, &rig, cases, count);
}
