/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/test_groups.c - groups of ranks that are near each other: written down for known
 * machines; on drawn ones, of s ranks that stand together, however near, s / group groups have no
 * member from elsewhere, which is all there can be. And network interfaces as UCX names them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/topology/common.h"

#define RANKS  40
#define LEVELS 7

static void expect_groups(const char *path, int ranks, const tw_rank_t *facts, int group,
                          const char *want)
{
    tw_node_t  *node = test_node(path, NULL);
    tw_place_t *places;
    int         order[RANKS];
    char        text[256] = "";

    ck_assert_int_eq(tw_place(node, ranks, facts, &places), TW_OK);
    ck_assert_int_eq(tw_place_groups(node, places, ranks, group, order), TW_OK);
    for (int i = 0; i < ranks; i++) {
        sprintf(text + strlen(text), "%s%d", i == 0 ? "" : i % group == 0 ? "|" : " ", order[i]);
    }
    ck_assert_str_eq(text, want);
    free(places);
    tw_node_destroy(node);
}

/* S4's machine: four GPUs below each of two switches. */
START_TEST(s4_groups)
{
    const char     *s4      = test_source("s4.xml");
    const tw_rank_t mixed[] = {{.visible = "0"}, {.visible = "4"}, {.visible = "1"},
                               {.visible = "5"}, {.visible = "2"}, {.visible = "6"},
                               {.visible = "3"}, {.visible = "7"}};
    const tw_rank_t three[] = {{.visible = "0"}, {.visible = "1"}, {.visible = "2"},
                               {.visible = "4"}, {.visible = "5"}, {.visible = "6"}};

    expect_groups(s4, 8, NULL, 4, "0 1 2 3|4 5 6 7");
    expect_groups(s4, 8, mixed, 4, "0 2 4 6|1 3 5 7");
    expect_groups(s4, 8, mixed, 2, "0 2|1 3|4 6|5 7");
    expect_groups(s4, 8, mixed, 3, "0 2 4|1 3 5|6 7"); /* one of each switch is left over */
    expect_groups(s4, 8, mixed, 8, "0 1 2 3 4 5 6 7");
    expect_groups(s4, 8, mixed, 1, "0|1|2|3|4|5|6|7");
    /* Three and three in pairs: in the order of ranks the second pair would be of both switches,
     * and it is, as one must be; but not the first or the last. */
    expect_groups(s4, 6, three, 2, "0 1|2 5|3 4");
}
END_TEST

/* Two hives of four, each of two switches: pairs below a switch, fours in a hive. */
START_TEST(amd_groups)
{
    const char *amd = test_source("amd8.xml");

    expect_groups(amd, 8, NULL, 2, "0 1|2 3|4 5|6 7");
    expect_groups(amd, 8, NULL, 4, "0 1 2 3|4 5 6 7");
    expect_groups(amd, 8, NULL, 3, "0 1 2|4 5 6|3 7");
}
END_TEST

/* E17. DGX-2: 16 GPUs in two webs of eight, four below a switch. The ranks see them in an order
 * that deals them out to the webs in turn. Lassen: two below a switch, which NVLink joins. */
START_TEST(machines_of_today)
{
    tw_rank_t dealt[16], turned[4];
    char      text[16][8], four[4][8];

    if (test_data("hwloc") == NULL) {
        printf("# SKIP DGX-2 and Lassen: no recorded topologies here (set THINWIRE_DATA)\n");
        return;
    }
    for (int r = 0; r < 16; r++) {
        snprintf(text[r], sizeof(text[r]), "%d", r % 2 * 8 + r / 2);
        dealt[r] = (tw_rank_t){.visible = text[r]};
    }
    for (int r = 0; r < 4; r++) {
        snprintf(four[r], sizeof(four[r]), "%d", r % 2 * 2 + r / 2);
        turned[r] = (tw_rank_t){.visible = four[r]};
    }
    expect_groups(test_data("hwloc/nvidiaDGX2.xml"), 16, dealt, 4,
                  "0 2 4 6|1 3 5 7|8 10 12 14|9 11 13 15");
    expect_groups(test_data("hwloc/nvidiaDGX2.xml"), 16, dealt, 8,
                  "0 2 4 6 8 10 12 14|1 3 5 7 9 11 13 15");
    expect_groups(test_data("hwloc/mpibind-coral-lassen.xml"), 4, turned, 2, "0 2|1 3");
    expect_groups(test_data("hwloc/mpibind-coral-lassen.xml"), 4, NULL, 2, "0 1|2 3");
}
END_TEST

START_TEST(wrong_arguments)
{
    tw_node_t  *node = test_node(test_source("s4.xml"), NULL);
    tw_place_t *places;
    int         order[2];
    char        text[8];

    ck_assert_int_eq(tw_place(node, 2, NULL, &places), TW_OK);
    ck_assert_int_eq(tw_place_groups(NULL, places, 2, 1, order), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_groups(node, NULL, 2, 1, order), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_groups(node, places, 2, 1, NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_groups(node, places, 0, 1, order), TW_ERR_RANGE);
    ck_assert_int_eq(tw_place_groups(node, places, 2, 0, order), TW_ERR_RANGE);
    ck_assert_int_eq(tw_place_groups(node, places, 2, 3, order), TW_ERR_RANGE);
    ck_assert_int_eq(tw_place_network(NULL, places, text, sizeof(text)), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_network(node, NULL, text, sizeof(text)), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_network(node, places, NULL, 8), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_network(node, places, text, 0), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_place_network(node, places, text, sizeof(text)), TW_OK);
    ck_assert_str_eq(text, ""); /* S4's machine has no network */
    free(places);
    tw_node_destroy(node);
}
END_TEST

/* ---- drawn machines
 * --------------------------------------------------------------------------- */

/* The first level at which two ranks stand together. */
static int level_of(const tw_node_t *node, const tw_place_t *a, const tw_place_t *b)
{
    const tw_part_t *x = tw_node_find(node, a->gpu >= 0 ? TW_PART_GPU : TW_PART_CORE,
                                      a->gpu >= 0 ? a->gpu : a->cores[0]);
    const tw_part_t *y = tw_node_find(node, b->gpu >= 0 ? TW_PART_GPU : TW_PART_CORE,
                                      b->gpu >= 0 ? b->gpu : b->cores[0]);

    return x == y && a->gpu >= 0 ? 0 : 2 + (int)tw_node_distance(node, x, y);
}

/* together[r]: the least rank that stands with r. */
static void flood(const tw_node_t *node, const tw_place_t *places, int ranks, int level,
                  int *together)
{
    for (int r = 0; r < ranks; r++) {
        together[r] = r;
    }
    for (int changed = 1; changed;) {
        changed = 0;
        for (int a = 0; a < ranks; a++) {
            for (int b = 0; b < ranks; b++) {
                if (together[b] < together[a] && level_of(node, &places[a], &places[b]) <= level) {
                    together[a] = together[b];
                    changed     = 1;
                }
            }
        }
    }
}

static void check_level(const int *order, int ranks, int group, const int *together)
{
    int members[RANKS] = {0}, whole[RANKS] = {0};

    for (int r = 0; r < ranks; r++) {
        members[together[r]]++;
    }
    for (int from = 0; from + group <= ranks; from += group) {
        int same = 1;

        for (int i = 1; i < group; i++) {
            same &= together[order[from + i]] == together[order[from]];
        }
        whole[together[order[from]]] += same;
    }
    for (int r = 0; r < ranks; r++) {
        ck_assert_int_eq(whole[r], members[r] / group);
    }
}

START_TEST(random_groups)
{
    test_random_t random = {test_seed() + 1000u * (uint64_t)_i};
    size_t        size;
    char         *xml   = test_random_machine(&random, &size);
    tw_node_t    *node  = test_node(test_write(xml, size), NULL);
    const int     ranks = 1 + test_below(&random, RANKS), group = 1 + test_below(&random, ranks);
    tw_place_t   *places;
    int           order[RANKS], together[RANKS], met[RANKS] = {0};

    ck_assert_int_eq(tw_place(node, ranks, NULL, &places), TW_OK);
    for (int r = ranks - 1; r > 0; r--) { /* as ranks may stand anyhow */
        const int        other = test_below(&random, r + 1);
        const tw_place_t place = places[r];

        places[r]     = places[other];
        places[other] = place;
    }
    ck_assert_int_eq(tw_place_groups(node, places, ranks, group, order), TW_OK);
    for (int i = 0; i < ranks; i++) {
        ck_assert(order[i] >= 0 && order[i] < ranks && met[order[i]]++ == 0);
        ck_assert(i % group == 0 || order[i] > order[i - 1]);
        ck_assert(i % group != 0 || i < group || i + group > ranks || order[i] > order[i - group]);
    }
    for (int level = 0; level < LEVELS; level++) {
        flood(node, places, ranks, level, together);
        check_level(order, ranks, group, together);
    }
    free(places);
    free(xml);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

/* A card for every two GPUs. Without the others there is nothing to choose; a port that is down is
 * not the one. */
START_TEST(networks)
{
    size_t      size;
    char       *xml  = test_read(test_source("amd8.xml"), &size), *at;
    tw_node_t  *node = test_node(test_source("amd8.xml"), NULL);
    tw_place_t *places;
    char        text[32], want[32];

    ck_assert_ptr_nonnull(xml);
    xml[size] = '\0';
    ck_assert_int_eq(tw_place(node, 8, NULL, &places), TW_OK);
    for (int r = 0; r < 8; r++) {
        snprintf(want, sizeof(want), "mlx5_%d:1", r / 2);
        ck_assert_int_eq(tw_place_network(node, &places[r], text, sizeof(text)), TW_OK);
        ck_assert_str_eq(text, want);
        ck_assert_int_eq(tw_place_network(node, &places[r], text, 4), TW_ERR_RANGE);
    }
    free(places);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(tw_node_find(node, TW_PART_NIC, i)->subnet, "fe80:0000:0000:0000");
    }
    tw_node_destroy(node);
    strstr(xml, "Port1LID\" value=\"0x1")[19]                 = '0'; /* mlx5_0: Ethernet */
    strstr(xml, "fe80:0000:0000:0000:0c42:a103:0000:0002")[4] = '-';
    node = test_node(test_write(xml, size), NULL);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(tw_node_find(node, TW_PART_NIC, i)->subnet,
                         i < 2 ? "" : "fe80:0000:0000:0000");
    }
    tw_node_destroy(node);
    at    = strstr(xml, "Port1State"); /* of mlx5_0: the second port is up */
    at[4] = '2';
    node  = test_node(test_write(xml, size), NULL);
    ck_assert_int_eq(tw_place(node, 1, NULL, &places), TW_OK);
    ck_assert_int_eq(tw_place_network(node, places, text, sizeof(text)), TW_OK);
    ck_assert_str_eq(text, "mlx5_0:2");
    free(places);
    tw_node_destroy(node);
    while ((at = strstr(at, "Port1State\" value=\"4")) != NULL) {
        at[19] = '1';
    }
    node = test_node(test_write(xml, size), NULL);
    ck_assert_int_eq(tw_place(node, 1, NULL, &places), TW_OK);
    ck_assert_int_eq(tw_place_network(node, places, text, sizeof(text)), TW_OK);
    ck_assert_str_eq(text, "");
    free(places);
    free(xml);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *tcase = test_case(suite, "groups");

    tcase_add_test(tcase, s4_groups);
    tcase_add_test(tcase, amd_groups);
    tcase_add_test(tcase, machines_of_today);
    tcase_add_test(tcase, wrong_arguments);
    tcase_add_loop_test(tcase, random_groups, 0, 300);
    tcase_add_test(tcase, networks);
    return test_main(suite);
}
