/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/test_place.c - places on S4's machine; CUDA_VISIBLE_DEVICES; wrong arguments; and
 * what holds for every machine, on drawn ones: every rank gets something, nothing is shared without
 * need, GPUs are spread, cores are near them, and the same is given twice.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/node.h"
#include "tests/topology/common.h"

/* 12 cores and one switch of 4 GPUs per package. With 8 ranks 3 cores each; with 3 ranks all are at
 * package 0, 4 cores each. */
START_TEST(s4_places)
{
    static const test_want_t eight[] = {
        {0, 0, "0-2", "0-2", 0, NULL, 0},     {1, 1, "3-5", "3-5", 0, NULL, 0},
        {2, 2, "6-8", "6-8", 0, NULL, 0},     {3, 3, "9-11", "9-11", 0, NULL, 0},
        {4, 4, "12-14", "12-14", 1, NULL, 0}, {5, 5, "15-17", "15-17", 1, NULL, 0},
        {6, 6, "18-20", "18-20", 1, NULL, 0}, {7, 7, "21-23", "21-23", 1, NULL, 0}};
    static const test_want_t three[] = {{0, 0, "0-3", NULL, 0, NULL, 0},
                                        {1, 1, "4-7", NULL, 0, NULL, 0},
                                        {2, 2, "8-11", NULL, 0, NULL, 0}};
    tw_node_t               *node    = test_node(test_source("s4.xml"), NULL);

    test_places(node, 8, NULL, eight);
    test_places(node, 3, NULL, three);
    tw_node_destroy(node);
}
END_TEST

/* CUDA_VISIBLE_DEVICES: text, devices of GPUs 0, 1, 4 of S4's machine, and what the log says. */
static const struct {
    const char *text;
    int         device[3];
    const char *said; /* NULL: nothing */
} visibles[] = {
    {NULL, {0, 1, 4}, NULL},
    {"0,1,4", {0, 1, 2}, NULL},
    {" 4 , 0 ", {1, -1, 0}, NULL},
    {"", {-1, -1, -1}, NULL},
    {"-1", {-1, -1, -1}, NULL},
    {"NoDevFiles", {-1, -1, -1}, NULL},
    {"1,-1,0", {-1, 0, -1}, NULL},
    {"1,8,0", {-1, 0, -1}, "no GPU '8'"},
    {"1,x,0", {-1, 0, -1}, "'x' names no GPU"},
    {"0,", {0, -1, -1}, "'' names no GPU"},
    {"0,1,0", {-1, -1, -1}, "twice"},
    {"0x1", {-1, -1, -1}, "no GPU '0x1'"},
    {"99999999999999999999", {-1, -1, -1}, "no GPU"},
    {"GPU-12345678", {-1, -1, -1}, "UUIDs are not known here"},
    {"MIG-GPU-1/2/3", {-1, -1, -1}, "MIG"},
};

START_TEST(visible_devices)
{
    static const int gpus[] = {0, 1, 4};
    tw_node_t       *node   = test_node(test_source("s4.xml"), visibles[_i].text);

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(tw_node_find(node, TW_PART_GPU, gpus[i])->device, visibles[_i].device[i]);
    }
    ck_assert_int_eq(test_log_lines, visibles[_i].said != NULL);
    ck_assert_msg(visibles[_i].said == NULL || strstr(test_log, visibles[_i].said) != NULL, "%s",
                  test_log);
    tw_node_destroy(node);
}
END_TEST

/* A made-up system with the driver's and the device files of some GPUs, by their numbers 0 to 7. */
static void driver_shows(const char *root, const char *bus, int number, int with_file)
{
    char  path[512];
    FILE *file;

    snprintf(path, sizeof(path), "mkdir -p %s/dev %s/proc/driver/nvidia/gpus/%s", root, root, bus);
    ck_assert_int_eq(system(path), 0);
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root, bus);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "Model: \t\t Tesla K20\nDevice Minor: \t %d\nGPU Excluded:\t No\n", number);
    fclose(file);
    if (with_file) {
        snprintf(path, sizeof(path), "%s/dev/nvidia%d", root, number);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fclose(file);
    }
}

/* A container with GPUs 2, 5 and 6 of eight, the driver showing 3 too: CUDA counts 0, 1, 2. */
START_TEST(gpus_of_a_container)
{
    char        root[] = "/tmp/thinwire-test.XXXXXX", command[64];
    tw_node_t  *node   = test_node(test_source("s4.xml"), NULL);
    int         list[8];
    tw_place_t *places;

    ck_assert_ptr_nonnull(mkdtemp(root));
    tw_visible_bar(node, root); /* no driver, no judgement */
    ck_assert_int_eq(tw_visible_list(node, NULL, list), 8);
    driver_shows(root, tw_node_find(node, TW_PART_GPU, 2)->bus, 4, 1);
    driver_shows(root, tw_node_find(node, TW_PART_GPU, 3)->bus, 3, 0);
    driver_shows(root, tw_node_find(node, TW_PART_GPU, 5)->bus, 0, 1);
    driver_shows(root, tw_node_find(node, TW_PART_GPU, 6)->bus, 7, 1);
    tw_visible_bar(node, root);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(tw_visible_list(node, NULL, list), 3);
    ck_assert(list[0] == 2 && list[1] == 5 && list[2] == 6);
    ck_assert_int_eq(tw_visible_list(node, "2,0,3", list), 2);
    ck_assert(list[0] == 6 && list[1] == 2);
    ck_assert_ptr_nonnull(strstr(test_log, "no GPU '3'"));
    for (int i = 0; i < 8; i++) { /* devices are counted anew */
        node->parts[node->gpus[i].part].device = -1;
    }
    ck_assert_int_eq(tw_visible_apply(node, NULL), TW_OK);
    ck_assert_int_eq(tw_node_find(node, TW_PART_GPU, 1)->device, -1);
    ck_assert_int_eq(tw_node_find(node, TW_PART_GPU, 6)->device, 2);
    ck_assert_int_eq(tw_place(node, 4, NULL, &places), TW_OK);
    ck_assert(places[0].gpu == 2 && places[1].gpu == 5 && places[2].gpu == 6 && places[3].gpu == 2);
    ck_assert_int_eq(places[1].device, 1);
    free(places);
    tw_node_destroy(node);
}
END_TEST

/* A launcher gave each rank a GPU of its own: every rank calls it device 0. */
START_TEST(each_rank_sees_its_own)
{
    const tw_rank_t facts[] = {
        {.visible = "4"}, {.visible = "0"}, {.visible = "5"}, {.visible = ""}};
    tw_node_t  *node = test_node(test_source("s4.xml"), NULL);
    tw_place_t *places;
    char        cores[64];

    ck_assert_int_eq(tw_place(node, 4, facts, &places), TW_OK);
    ck_assert_int_eq(places[0].gpu, 4);
    ck_assert_int_eq(places[1].gpu, 0);
    ck_assert_int_eq(places[2].gpu, 5);
    ck_assert_int_eq(places[3].gpu, -1);
    ck_assert_int_eq(places[0].device + places[1].device + places[2].device, 0);
    ck_assert_int_eq(places[3].device, -1);
    /* Ranks 0 and 2 divide package 1; rank 3, without a home, is spread to the beginning, package
     * 0, and stands there after rank 1. */
    test_list(places[0].cores, places[0].core_count, cores, sizeof(cores));
    ck_assert_str_eq(cores, "12-17");
    test_list(places[2].cores, places[2].core_count, cores, sizeof(cores));
    ck_assert_str_eq(cores, "18-23");
    test_list(places[1].cores, places[1].core_count, cores, sizeof(cores));
    ck_assert_str_eq(cores, "0-5");
    test_list(places[3].cores, places[3].core_count, cores, sizeof(cores));
    ck_assert_str_eq(cores, "6-11");
    free(places);
    tw_node_destroy(node);
}
END_TEST

START_TEST(wrong_arguments)
{
    const tw_rank_t bad[]     = {{.binding = "0-3"}, {.binding = "four"}},
                    outside[] = {{.binding = "0-3"}, {.binding = "500-600"}};
    tw_node_t  *node = test_node(test_source("s4.xml"), NULL), *none = NULL;
    tw_place_t *places = NULL;
    char        pus[8];

    ck_assert_int_eq(tw_place(NULL, 1, NULL, &places), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place(node, 1, NULL, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place(node, 0, NULL, &places), TW_ERR_RANGE);
    ck_assert_int_eq(tw_place(node, 4097, NULL, &places), TW_ERR_RANGE);
    test_context();
    ck_assert_int_eq(tw_place(node, 2, bad, &places), TW_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(test_log, "local rank 1: binding 'four'"));
    ck_assert_int_eq(tw_place(node, 2, outside, &places), TW_ERR_FORMAT);
    ck_assert_ptr_null(places);
    ck_assert_int_eq(tw_node_create(NULL, NULL, NULL, &none), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_node_create(test_context(), NULL, NULL, NULL), TW_ERR_INVALID_ARG);
    /* A file has no binding, and nobody can be bound to it. */
    ck_assert_int_eq(tw_node_binding(node, pus, sizeof(pus)), TW_OK);
    ck_assert_str_eq(pus, "");
    ck_assert_int_eq(tw_node_binding(node, pus, 0), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place(node, 1, NULL, &places), TW_OK);
    ck_assert_int_eq(tw_place_apply(node, places), TW_ERR_UNSUPPORTED);
    ck_assert_int_eq(tw_place_apply(node, NULL), TW_ERR_INVALID_ARG);
    free(places);
    tw_node_destroy(node);
    tw_node_destroy(NULL);
    ck_assert_int_eq(tw_node_parts(NULL), 0);
    ck_assert_int_eq(tw_node_count(NULL, TW_PART_GPU), 0);
}
END_TEST

/* ---- what holds for every machine ----------------------------------------------------------- */

#define RANKS 80

typedef struct drawn {
    tw_node_t *node;
    int        ranks, bound, own_gpus;
    char       binding[RANKS][256], visible[RANKS][64];
    tw_rank_t  facts[RANKS];
} drawn_t;

/* A random binding: a run of the machine's threads, or the one of the rank before. */
static void draw_binding(test_random_t *random, int cores, drawn_t *d, int r)
{
    if (r > 0 && test_below(random, 3) > 0) {
        snprintf(d->binding[r], sizeof(d->binding[r]), "%s", d->binding[r - 1]);
    } else if (test_below(random, 5) == 0) {
        d->binding[r][0] = '\0';
    } else {
        const int from = test_below(random, cores), to = from + test_below(random, cores - from);

        snprintf(d->binding[r], sizeof(d->binding[r]), "%d-%d", from, to);
    }
    d->facts[r].binding = d->binding[r];
}

static void draw(test_random_t *random, drawn_t *d, const char **path_p)
{
    size_t size;
    char  *xml = test_random_machine(random, &size);

    memset(d, 0, sizeof(*d));
    *path_p     = test_write(xml, size);
    d->node     = test_node(*path_p, NULL);
    d->ranks    = 1 + test_below(random, test_below(random, 4) > 0 ? 12 : RANKS);
    d->bound    = test_below(random, 3) == 0;
    d->own_gpus = test_below(random, 4) == 0 && tw_node_count(d->node, TW_PART_GPU) > 0;
    for (int r = 0; r < d->ranks; r++) {
        if (d->bound) {
            draw_binding(random, tw_node_count(d->node, TW_PART_CORE), d, r);
        }
        if (d->own_gpus) {
            snprintf(d->visible[r], sizeof(d->visible[r]), "%d",
                     test_below(random, tw_node_count(d->node, TW_PART_GPU)));
            d->facts[r].visible = d->visible[r];
        }
    }
    free(xml);
}

/* Every rank has cores of the machine, ascending, inside its binding (threads are cores here). */
static void check_cores(const drawn_t *d, const tw_place_t *places)
{
    for (int r = 0; r < d->ranks; r++) {
        int low = 0, high = tw_node_count(d->node, TW_PART_CORE) - 1;

        if (d->binding[r][0] != '\0') {
            ck_assert_int_eq(sscanf(d->binding[r], "%d-%d", &low, &high), 2);
        }
        ck_assert_int_ge(places[r].core_count, 1);
        for (int i = 0; i < places[r].core_count; i++) {
            ck_assert_int_ge(places[r].cores[i], low);
            ck_assert_int_le(places[r].cores[i], high);
            ck_assert(i == 0 || places[r].cores[i] > places[r].cores[i - 1]);
        }
        ck_assert_uint_gt(strlen(places[r].pus), 0);
    }
}

/* Cores overlap just where it is said, and without bindings only if there are too few. */
static void check_sharing(const drawn_t *d, const tw_place_t *places)
{
    const int cores     = tw_node_count(d->node, TW_PART_CORE);
    int       users[64] = {0}, gpus[256] = {0};

    for (int r = 0; r < d->ranks; r++) {
        for (int i = 0; i < places[r].core_count; i++) {
            users[places[r].cores[i]]++;
        }
        if (places[r].gpu >= 0) {
            gpus[places[r].gpu]++;
        }
    }
    for (int r = 0; r < d->ranks; r++) {
        int shared = 0;

        for (int i = 0; i < places[r].core_count; i++) {
            shared |= users[places[r].cores[i]] > 1 ? TW_SHARED_CORES : 0;
        }
        shared |= places[r].gpu >= 0 && gpus[places[r].gpu] > 1 ? TW_SHARED_GPU : 0;
        ck_assert_int_eq((int)places[r].shared, shared);
        ck_assert(d->bound || d->ranks > cores || (shared & TW_SHARED_CORES) == 0);
    }
    for (int c = 0; c < cores && !d->bound && d->ranks > cores; c++) {
        ck_assert_msg(users[c] >= 1 && users[c] <= (d->ranks + cores - 1) / cores,
                      "core %d: %d of %d ranks, %d cores", c, users[c], d->ranks, cores);
    }
}

/* All visible GPUs are used before one is used twice; a rank's device is its own count. */
static void check_gpus(const drawn_t *d, const tw_place_t *places)
{
    const int n          = tw_node_count(d->node, TW_PART_GPU);
    int       users[256] = {0}, most = 0, least = RANKS;

    for (int r = 0; r < d->ranks; r++) {
        ck_assert_int_eq(places[r].gpu >= 0, n > 0);
        if (n > 0) {
            ck_assert_int_eq(places[r].device, d->own_gpus ? 0 : places[r].gpu);
            ck_assert(!d->own_gpus || places[r].gpu == atoi(d->visible[r]));
            users[places[r].gpu]++;
        }
    }
    for (int g = 0; g < n; g++) {
        most  = users[g] > most ? users[g] : most;
        least = users[g] < least ? users[g] : least;
    }
    ck_assert(n == 0 || d->own_gpus || most - least <= 1);
}

/* Without bindings: cores at the package of the GPU, if that has as many as ranks want it. */
static void check_nearness(const drawn_t *d, const tw_place_t *places)
{
    for (int r = 0; r < d->ranks && !d->bound; r++) {
        const tw_part_t *gpu     = tw_node_find(d->node, TW_PART_GPU, places[r].gpu);
        int              wanting = 0, here = 0, known = 0;

        for (int c = 0; gpu != NULL && c < tw_node_count(d->node, TW_PART_CORE); c++) {
            here += tw_node_distance(d->node, gpu, tw_node_find(d->node, TW_PART_CORE, c)) <=
                    TW_NEAR_PACKAGE;
        }
        known = here > 0;
        for (int k = 0; k < d->ranks && known; k++) {
            const tw_part_t *other = tw_node_find(d->node, TW_PART_GPU, places[k].gpu);

            /* Homeless ranks may be spread to this package too. */
            wanting +=
                tw_node_distance(d->node, gpu, other) <= TW_NEAR_PACKAGE ||
                tw_node_distance(d->node, other, tw_node_find(d->node, TW_PART_CORE, 0)) == TW_FAR;
        }
        for (int i = 0; known && wanting <= here && i < places[r].core_count; i++) {
            ck_assert_int_le(
                tw_node_distance(d->node, gpu,
                                 tw_node_find(d->node, TW_PART_CORE, places[r].cores[i])),
                TW_NEAR_PACKAGE);
        }
    }
}

START_TEST(random_machines)
{
    test_random_t random = {test_seed() + 1000u * (uint64_t)_i};
    const char   *path;
    tw_place_t   *places, *again;
    tw_node_t    *twin;
    drawn_t       d;

    draw(&random, &d, &path);
    ck_assert_int_eq(tw_place(d.node, d.ranks, d.facts, &places), TW_OK);
    check_cores(&d, places);
    check_sharing(&d, places);
    check_gpus(&d, places);
    check_nearness(&d, places);
    twin = test_node(path, NULL);
    ck_assert_int_eq(tw_place(twin, d.ranks, d.facts, &again), TW_OK);
    for (int r = 0; r < d.ranks; r++) {
        ck_assert(places[r].gpu == again[r].gpu && places[r].device == again[r].device &&
                  places[r].numa == again[r].numa && places[r].nic == again[r].nic &&
                  places[r].shared == again[r].shared && places[r].bound == again[r].bound &&
                  places[r].core_count == again[r].core_count);
        ck_assert_mem_eq(places[r].cores, again[r].cores,
                         (size_t)places[r].core_count * sizeof(int));
        ck_assert_str_eq(places[r].pus, again[r].pus);
    }
    free(places);
    free(again);
    tw_node_destroy(twin);
    tw_node_destroy(d.node);
    test_forget();
}
END_TEST

/* This machine: whatever it is, a place on it can be bound to. */
START_TEST(this_machine)
{
    tw_node_t  *node = test_node(NULL, NULL);
    tw_rank_t   facts[2];
    tw_place_t *places;
    char        before[TW_PUS_TEXT], after[TW_PUS_TEXT];

    ck_assert_int_ge(tw_node_count(node, TW_PART_CORE), 1);
    ck_assert_int_eq(tw_node_binding(node, before, sizeof(before)), TW_OK);
    facts[0] = facts[1] = (tw_rank_t){.binding = before};
    ck_assert_int_eq(tw_place(node, 2, facts, &places), TW_OK);
    ck_assert_int_eq(tw_place_apply(node, &places[1]), TW_OK);
    ck_assert_int_eq(tw_node_binding(node, after, sizeof(after)), TW_OK);
    if (tw_node_count(node, TW_PART_CORE) > 1) {
        ck_assert_str_eq(after, places[1].pus);
        ck_assert_int_eq(tw_node_binding(node, after, 1), TW_ERR_RANGE);
    }
    free(places);
    tw_node_destroy(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *tcase = test_case(suite, "place");

    tcase_add_test(tcase, s4_places);
    TEST_EACH(tcase, visible_devices, visibles);
    tcase_add_test(tcase, gpus_of_a_container);
    tcase_add_test(tcase, each_rank_sees_its_own);
    tcase_add_test(tcase, wrong_arguments);
    tcase_add_loop_test(tcase, random_machines, 0, 300);
    tcase_add_test(tcase, this_machine);
    return test_main(suite);
}
