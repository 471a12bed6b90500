/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/common.c - see common.h.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/topology/common.h"

int  test_log_lines;
char test_log[4096];

#ifdef __SANITIZE_ADDRESS__
/* What hwloc's plugin for PCI leaves behind when it is unloaded. */
#pragma GCC visibility push(default)
const char            *__lsan_default_suppressions(void);
#pragma GCC visibility pop

const char *__lsan_default_suppressions(void)
{
    return "leak:libhwloc.so";
}
#endif

static void keep_line(void *arg, tw_log_level_t level, int rank, const char *line)
{
    (void)arg;
    (void)level;
    (void)rank;
    test_log_lines++;
    snprintf(test_log, sizeof(test_log), "%s", line);
}

tw_context_t *test_context(void)
{
    static tw_context_t *ctx;

    if (ctx == NULL) {
        ck_assert_int_eq(tw_context_create(&ctx), TW_OK);
        ck_assert_int_eq(tw_context_set_log(ctx, keep_line, NULL), TW_OK);
    }
    test_log_lines = 0;
    test_log[0]    = '\0';
    return ctx;
}

const char *test_data(const char *name)
{
    static char path[4096];
    const char *data = getenv("THINWIRE_DATA"), *source = getenv("top_srcdir");

    if (data != NULL && data[0] != '\0') {
        snprintf(path, sizeof(path), "%s/topologies/%s", data, name);
    } else {
        snprintf(path, sizeof(path), "%s/../shared/data/topologies/%s",
                 source != NULL ? source : ".", name);
    }
    return access(path, R_OK) == 0 ? path : NULL;
}

const char *test_source(const char *name)
{
    static char path[4096];
    const char *source = getenv("top_srcdir");

    snprintf(path, sizeof(path), "%s/tests/topology/%s", source != NULL ? source : ".", name);
    return path;
}

char *test_read(const char *path, size_t *size_p)
{
    FILE  *file  = fopen(path, "rb");
    char  *bytes = malloc(1 << 20);
    size_t size  = 0;

    if (file != NULL) {
        size = fread(bytes, 1, 1 << 20, file);
        fclose(file);
    }
    if (file == NULL || size == 0) {
        free(bytes);
        return NULL;
    }
    *size_p = size;
    return bytes;
}

static char temporary[64];

const char *test_write(const void *bytes, size_t size)
{
    FILE *file;
    int   fd;

    test_forget();
    snprintf(temporary, sizeof(temporary), "/tmp/thinwire-topology.XXXXXX");
    fd   = mkstemp(temporary);
    file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return temporary;
}

void test_forget(void)
{
    if (temporary[0] != '\0') {
        unlink(temporary);
        temporary[0] = '\0';
    }
}

tw_node_t *test_node(const char *path, const char *visible)
{
    tw_node_t *node = NULL;

    ck_assert_msg(tw_node_create(test_context(), path, visible, &node) == TW_OK, "%s: %s", path,
                  test_log);
    return node;
}

void test_list(const int *numbers, int count, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < count && used < size;) {
        int last = i;

        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1) {
            last++;
        }
        used += (size_t)snprintf(text + used, size - used, last > i ? "%s%d-%d" : "%s%d",
                                 i > 0 ? "," : "", numbers[i], numbers[last]);
        i = last + 1;
    }
}

void test_places(const tw_node_t *node, int ranks, const tw_rank_t *facts, const test_want_t *want)
{
    tw_place_t *places;

    ck_assert_int_eq(tw_place(node, ranks, facts, &places), TW_OK);
    for (int r = 0; r < ranks; r++) {
        const test_want_t *w   = &want[r];
        const tw_part_t   *nic = tw_node_find(node, TW_PART_NIC, places[r].nic);
        char               cores[256];

        test_list(places[r].cores, places[r].core_count, cores, sizeof(cores));
        ck_assert_msg(places[r].gpu == w->gpu && places[r].device == w->device,
                      "rank %d: GPU %d, %d", r, places[r].gpu, places[r].device);
        ck_assert_msg(strcmp(cores, w->cores) == 0, "rank %d: cores %s, not %s", r, cores,
                      w->cores);
        ck_assert_msg(w->pus == NULL || strcmp(places[r].pus, w->pus) == 0,
                      "rank %d: threads %s, not %s", r, places[r].pus, w->pus);
        ck_assert_msg(places[r].numa == w->numa, "rank %d: NUMA node %d", r, places[r].numa);
        ck_assert_msg(nic == NULL ? w->nic == NULL
                                  : w->nic != NULL && strcmp(nic->name, w->nic) == 0,
                      "rank %d: network %s", r, nic != NULL ? nic->name : "none");
        ck_assert_msg(places[r].shared == w->shared, "rank %d: shared %u", r, places[r].shared);
        ck_assert_int_eq(places[r].bound, facts != NULL && facts[r].binding != NULL);
    }
    free(places);
}

/* ---- orders of exchange ---------------------------------------------------------------------- */

/* Whether GPU g hangs below part s. */
static int below(const tw_node_t *node, int g, const tw_part_t *s)
{
    const tw_part_t *part = tw_node_find(node, TW_PART_GPU, g);

    while (part != NULL && part != s) {
        part = tw_node_part(node, part->parent);
    }
    return part == s;
}

/* A matching in every round, and every pair of the set in exactly one. */
static void check_pairs(const tw_round_t *rounds, int count, const int *gpus, int n)
{
    int met[TEST_GPUS][TEST_GPUS] = {{0}};

    for (int r = 0; r < count; r++) {
        int busy[TEST_GPUS] = {0};

        ck_assert_int_gt(rounds[r].count, 0);
        for (int k = 0; k < rounds[r].count; k++) {
            const int a = rounds[r].pairs[k].a, b = rounds[r].pairs[k].b;

            ck_assert_int_lt(a, b);
            ck_assert_msg(!busy[a] && !busy[b], "round %d: GPU %d or %d twice", r, a, b);
            busy[a] = busy[b] = 1;
            met[a][b]++;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (gpus[i] < gpus[j]) {
                ck_assert_msg(met[gpus[i]][gpus[j]] == 1, "pair %d-%d: %d times", gpus[i], gpus[j],
                              met[gpus[i]][gpus[j]]);
            }
        }
    }
}

/* Across each switch one pair at most in a round, and none before all pairs below it have met. */
static void check_switches(const tw_node_t *node, const tw_round_t *rounds, int count)
{
    for (int s = 0; s < tw_node_count(node, TW_PART_SWITCH); s++) {
        const tw_part_t *part    = tw_node_find(node, TW_PART_SWITCH, s);
        int              crossed = 0;

        for (int r = 0; r < count; r++) {
            if (rounds[r].nvlink) {
                continue;
            }
            int inner = 0, across = 0;

            for (int k = 0; k < rounds[r].count; k++) {
                const int ends = below(node, rounds[r].pairs[k].a, part) +
                                 below(node, rounds[r].pairs[k].b, part);

                inner += ends == 2;
                across += ends == 1;
            }
            ck_assert_msg(across <= 1, "round %d: %d pairs across switch %d", r, across, s);
            crossed |= across;
            ck_assert_msg(!crossed || inner == 0, "round %d: switch %d inside after across", r, s);
        }
    }
}

int test_order(const tw_node_t *node, const int *gpus, int n, tw_round_t **rounds_p)
{
    int count = -1;

    *rounds_p = NULL;
    ck_assert_int_eq(tw_exchange_order(node, gpus, n, rounds_p, &count), TW_OK);
    check_pairs(*rounds_p, count, gpus, n);
    check_switches(node, *rounds_p, count);
    return count;
}

/* ---- random machines ------------------------------------------------------------------------ */

typedef struct writer {
    test_random_t *random;
    char          *text;
    size_t         used, room;
    int            index; /* gp_index of the next object */
    int            bus;   /* next free PCI bus           */
    int            cores, numas;
} writer_t;

static void put(writer_t *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(writer_t *w, const char *format, ...)
{
    va_list args;
    int     n;

    if (w->room - w->used < 2048) {
        w->room = 2 * w->room + 4096;
        w->text = realloc(w->text, w->room);
    }
    va_start(args, format);
    n = vsnprintf(w->text + w->used, w->room - w->used, format, args);
    va_end(args);
    w->used += (size_t)n;
}

/* The attributes of threads first..end-1 (two 32-bit words are enough) and a set of NUMA nodes. */
static void put_sets(writer_t *w, int first, int end, unsigned nodes)
{
    uint64_t mask = 0;

    for (int i = first; i < end; i++) {
        mask |= UINT64_C(1) << i;
    }
    put(w, " cpuset=\"0x%08x,0x%08x\" complete_cpuset=\"0x%08x,0x%08x\"", (unsigned)(mask >> 32),
        (unsigned)mask, (unsigned)(mask >> 32), (unsigned)mask);
    put(w, " nodeset=\"0x%08x\" complete_nodeset=\"0x%08x\" gp_index=\"%d\"", nodes, nodes,
        ++w->index);
}

static void put_device(writer_t *w)
{
    static const char *const gpus[] = {"0302 [10de:1db1]", "0300 [10de:1b80]"};
    const int                kind   = test_below(w->random, 4);

    put(w,
        "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.0\" pci_type=\"%s "
        "[0000:0000] a1\" "
        "pci_link_speed=\"0.000000\">",
        ++w->index, w->bus,
        kind < 2    ? gpus[kind]
        : kind == 2 ? "0207 [15b3:1019]"
                    : "0106 [8086:1d02]");
    if (kind == 2) {
        put(w, "<object type=\"OSDev\" gp_index=\"%d\" name=\"ib%d\" osdev_type=\"2\"/>",
            ++w->index, w->bus);
        if (test_below(w->random, 2)) {
            put(w,
                "<object type=\"OSDev\" gp_index=\"%d\" name=\"mlx5_%d\" osdev_type=\"3\">"
                "<info name=\"Port1State\" value=\"%d\"/></object>",
                ++w->index, w->bus, test_below(w->random, 4) ? 4 : 1);
        }
    }
    put(w, "</object>");
    w->bus++;
}

/* A bridge and what is below it: devices, or bridges. */
static void put_bridge(writer_t *w, int depth)
{
    const int bus      = w->bus++;
    const int children = depth == 0 ? 1 + test_below(w->random, 3) : test_below(w->random, 4);

    if (depth == 0) {
        put(w,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
            "bridge_pci=\"0000:[%02x-ff]\">",
            ++w->index, bus);
    } else {
        put(w,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"1-1\" depth=\"%d\" "
            "bridge_pci=\"0000:[%02x-ff]\" pci_busid=\"0000:%02x:01.0\" pci_type=\"0604 "
            "[10b5:8747] [0000:0000] ca\" "
            "pci_link_speed=\"0.000000\">",
            ++w->index, depth, bus, bus);
    }
    for (int i = 0; i < children && w->bus < 200; i++) {
        if (depth < 4 && (depth == 0 || test_below(w->random, 3) > 0)) {
            put_bridge(w, depth + 1);
        } else {
            put_device(w);
        }
    }
    put(w, "</object>\n");
}

static void put_roots(writer_t *w, int most)
{
    for (int i = test_below(w->random, most + 1); i > 0 && w->bus < 180; i--) {
        put_bridge(w, 0);
    }
}

char *test_random_machine(test_random_t *random, size_t *size_p)
{
    const int packages = 1 + test_below(random, 4);
    const int numas    = 1 + test_below(random, 3); /* per package                    */
    const int cores    = 1 + test_below(random, 5); /* per NUMA node, 60 at the most  */
    const int all      = packages * numas * cores;
    writer_t  w        = {.random = random};

    put(&w,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\"");
    put_sets(&w, 0, all, (1u << (packages * numas)) - 1);
    put(&w, ">\n");
    for (int p = 0; p < packages; p++) {
        put(&w, "<object type=\"Package\" os_index=\"%d\"", p);
        put_sets(&w, p * numas * cores, (p + 1) * numas * cores,
                 ((1u << numas) - 1) << (p * numas));
        put(&w, ">\n");
        for (int n = 0; n < numas; n++) {
            const int numa = p * numas + n;

            put(&w, "<object type=\"Group\"");
            put_sets(&w, numa * cores, (numa + 1) * cores, 1u << numa);
            put(&w, " kind=\"1001\" subkind=\"0\">\n<object type=\"NUMANode\" os_index=\"%d\"",
                numa);
            put_sets(&w, numa * cores, (numa + 1) * cores, 1u << numa);
            put(&w, " local_memory=\"1073741824\"/>\n");
            for (int c = numa * cores; c < (numa + 1) * cores; c++) {
                put(&w, "<object type=\"Core\" os_index=\"%d\"", c);
                put_sets(&w, c, c + 1, 1u << numa);
                put(&w, "><object type=\"PU\" os_index=\"%d\"", c);
                put_sets(&w, c, c + 1, 1u << numa);
                put(&w, "/></object>\n");
            }
            put_roots(&w, 1);
            put(&w, "</object>\n");
        }
        put_roots(&w, 1);
        put(&w, "</object>\n");
    }
    put_roots(&w, 1);
    put(&w, "</object>\n</topology>\n");
    *size_p = w.used;
    return w.text;
}
