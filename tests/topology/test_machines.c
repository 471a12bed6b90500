/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/test_machines.c - where ranks belong on real machines. The expectations were
 * written down from the machine, as lstopo shows the file, and from the rules in docs/topology.md;
 * the reasoning stands beside them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/topology/common.h"

#define RANKS 16

typedef struct machine {
    const char *file;    /* of the data sets    */
    const char *visible; /* CUDA_VISIBLE_DEVICES */
    int         ranks;
    const char *bindings[RANKS];
    test_want_t want[RANKS];
} machine_t;

#define GPU_SHARED   TW_SHARED_GPU
#define CORES_SHARED TW_SHARED_CORES

static const machine_t machines[] = {
    /* Lassen: 2 POWER9, 40 cores that the system leaves to jobs, 20 per package. GPUs 0 and 1 (bus
     * 0004:04, 0004:05) are below one switch at package 0, GPUs 2 and 3 (0035:03, 0035:04) at
     * package
     * 1. Two ranks per package: 10 cores each, in order. Each package has a ConnectX-5 with two
     * InfiniBand functions, which are as near to both GPUs: one each. The Ethernet functions are no
     * OpenFabrics devices. The first thread of the first core is 8, 4 per core. */
    {"hwloc/mpibind-coral-lassen.xml",
     NULL,
     4,
     {NULL},
     {{0, 0, "0-9", "8-47", 0, "mlx5_0", 0},
      {1, 1, "10-19", "48-87", 0, "mlx5_1", 0},
      {2, 2, "20-29", "96-135", 1, "mlx5_2", 0},
      {3, 3, "30-39", "136-175", 1, "mlx5_3", 0}}},
    /* The same, but this job may use GPUs 3 and 1 only, and CUDA counts them in that order: rank 0
     * belongs to package 1 and rank 1 to package 0, each with all 20 cores and the first network
     * function there. */
    {"hwloc/mpibind-coral-lassen.xml",
     "3,1",
     2,
     {NULL},
     {{3, 0, "20-39", NULL, 1, "mlx5_2", 0}, {1, 1, "0-19", NULL, 0, "mlx5_0", 0}}},
    /* By UUID; the beginning is enough. GPU 2 is the third in the file's order of bus ids. */
    {"hwloc/mpibind-coral-lassen.xml",
     "GPU-3e0871a1",
     1,
     {NULL},
     {{2, 0, "20-39", NULL, 1, "mlx5_2", 0}}},
    /* Six ranks: ranks 4 and 5 share GPUs 0 and 1. So package 0 has four ranks, 5 cores each, and
     * package 1 two. All ranks of a package have the same home, so they stand in order of rank. On
     * package 0 the network functions alternate: 0, 1 for ranks 0, 1, and again for 4, 5. */
    {"hwloc/mpibind-coral-lassen.xml",
     NULL,
     6,
     {NULL},
     {{0, 0, "0-4", NULL, 0, "mlx5_0", GPU_SHARED},
      {1, 1, "5-9", NULL, 0, "mlx5_1", GPU_SHARED},
      {2, 2, "20-29", NULL, 1, "mlx5_2", 0},
      {3, 3, "30-39", NULL, 1, "mlx5_3", 0},
      {0, 0, "10-14", NULL, 0, "mlx5_0", GPU_SHARED},
      {1, 1, "15-19", NULL, 0, "mlx5_1", GPU_SHARED}}},
    /* mpirun has bound the ranks the other way round: rank 0 to package 1 (threads 96-175), rank 1
     * to package 0. They stay there and get the GPUs there, first of the two each. */
    {"hwloc/mpibind-coral-lassen.xml",
     NULL,
     2,
     {"96-175", "8-87"},
     {{2, 2, "20-39", "96-175", 1, "mlx5_2", 0}, {0, 0, "0-19", "8-87", 0, "mlx5_0", 0}}},
    /* Four ranks, all bound to package 1. GPUs are spread before they are shared, so two get far
     * ones; in turn they take the nearest that is free: 2, 3, then 0, 1. Of the 20 cores each
     * gets 5. Ranks 0 and 1 are at home on NUMA node 1; ranks 2 and 3 have no home inside their
     * binding and stand last. Networks: near the GPU, so 2 and 3 for ranks 0, 1 and 0 and 1 for
     * ranks 2, 3. */
    {"hwloc/mpibind-coral-lassen.xml",
     NULL,
     4,
     {"96-175", "96-175", "96-175", "96-175"},
     {{2, 2, "20-24", NULL, 1, "mlx5_2", 0},
      {3, 3, "25-29", NULL, 1, "mlx5_3", 0},
      {0, 0, "30-34", NULL, 1, "mlx5_0", 0},
      {1, 1, "35-39", NULL, 1, "mlx5_1", 0}}},

    /* JUWELS Booster: 2 EPYC with 4 NUMA nodes of 6 cores each. In bus order GPU 0 (03) is at NUMA
     * node 3, GPU 1 (44) at 1, GPU 2 (84) at 7, GPU 3 (c4) at 5. A package has two ranks, so 12 of
     * its 24 cores each: the 6 of the GPU's NUMA node, and of the 12 that nobody's GPU is at (nodes
     * 0 and 2; 4 and 6) the lower half for the rank with the lower home. Every GPU shares its
     * switch with one InfiniBand card. Thread n + 48 is on the core of thread n. */
    {"hwloc/psmgmt-jwb0001.xml",
     NULL,
     4,
     {NULL},
     {{0, 0, "12-23", "12-23,60-71", 3, "mlx5_1", 0},
      {1, 1, "0-11", "0-11,48-59", 1, "mlx5_0", 0},
      {2, 2, "36-47", "36-47,84-95", 7, "mlx5_3", 0},
      {3, 3, "24-35", "24-35,72-83", 5, "mlx5_2", 0}}},
    /* Eight ranks: GPU r mod 4. Four ranks per package, 6 cores each: half of the home (3), and 3
     * of the rest. Package 0: home node 1 (6-11) is of ranks 1 and 5, home node 3 (18-23) of 0 and
     * 4; the rest, 0-5 and 12-17, goes to 1, 5, 0, 4 in threes. */
    {"hwloc/psmgmt-jwb0001.xml",
     NULL,
     8,
     {NULL},
     {{0, 0, "12-14,18-20", NULL, 3, "mlx5_1", GPU_SHARED},
      {1, 1, "0-2,6-8", NULL, 1, "mlx5_0", GPU_SHARED},
      {2, 2, "36-38,42-44", NULL, 7, "mlx5_3", GPU_SHARED},
      {3, 3, "24-26,30-32", NULL, 5, "mlx5_2", GPU_SHARED},
      {0, 0, "15-17,21-23", NULL, 3, "mlx5_1", GPU_SHARED},
      {1, 1, "3-5,9-11", NULL, 1, "mlx5_0", GPU_SHARED},
      {2, 2, "39-41,45-47", NULL, 7, "mlx5_3", GPU_SHARED},
      {3, 3, "27-29,33-35", NULL, 5, "mlx5_2", GPU_SHARED}}},

    /* cts1: both P100 and the InfiniBand card are below one switch at package 0. Near the GPU means
     * package 0 for both ranks, 9 of its 18 cores each; package 1 stays free. */
    {"hwloc/mpibind-cts1-pascal.xml",
     NULL,
     2,
     {NULL},
     {{0, 0, "0-8", "0-8,36-44", 0, "mlx5_0", 0}, {1, 1, "9-17", "9-17,45-53", 0, "mlx5_0", 0}}},
    /* Without a GPU (CUDA_VISIBLE_DEVICES is empty) ranks are spread over the cores: three ranks
     * begin at core 0, 12 and 24, so two are on package 0, with 9 cores each, and one has
     * package 1. */
    {"hwloc/mpibind-cts1-pascal.xml",
     "",
     3,
     {NULL},
     {{-1, -1, "0-8", NULL, 0, "mlx5_0", 0},
      {-1, -1, "9-17", NULL, 0, "mlx5_0", 0},
      {-1, -1, "18-35", NULL, 1, "mlx5_0", 0}}},
    /* One rank without a GPU has all of the machine. */
    {"hwloc/mpibind-cts1-pascal.xml", "", 1, {NULL}, {{-1, -1, "0-35", NULL, 0, "mlx5_0", 0}}},
    /* Bound to single threads, two of one core (0 and 36 are core 0): they share it, and stay on
     * their threads. Both GPUs are at their package. */
    {"hwloc/mpibind-cts1-pascal.xml",
     NULL,
     3,
     {"0", "36", "1"},
     {{0, 0, "0", "0", 0, "mlx5_0", GPU_SHARED | CORES_SHARED},
      {1, 1, "0", "36", 0, "mlx5_0", CORES_SHARED},
      {0, 0, "1", "1", 0, "mlx5_0", GPU_SHARED}}},

    /* DGX-2, a file with 2 cores per package: GPUs 0-7 at package 0, 8-15 at package 1. Eight ranks
     * on two cores take them in turn. */
    {"hwloc/nvidiaDGX2.xml",
     NULL,
     16,
     {NULL},
     {{0, 0, "0", "0", 0, NULL, CORES_SHARED},
      {1, 1, "1", "1", 0, NULL, CORES_SHARED},
      {2, 2, "0", "0", 0, NULL, CORES_SHARED},
      {3, 3, "1", "1", 0, NULL, CORES_SHARED},
      {4, 4, "0", "0", 0, NULL, CORES_SHARED},
      {5, 5, "1", "1", 0, NULL, CORES_SHARED},
      {6, 6, "0", "0", 0, NULL, CORES_SHARED},
      {7, 7, "1", "1", 0, NULL, CORES_SHARED},
      {8, 8, "2", "24", 1, NULL, CORES_SHARED},
      {9, 9, "3", "25", 1, NULL, CORES_SHARED},
      {10, 10, "2", "24", 1, NULL, CORES_SHARED},
      {11, 11, "3", "25", 1, NULL, CORES_SHARED},
      {12, 12, "2", "24", 1, NULL, CORES_SHARED},
      {13, 13, "3", "25", 1, NULL, CORES_SHARED},
      {14, 14, "2", "24", 1, NULL, CORES_SHARED},
      {15, 15, "3", "25", 1, NULL, CORES_SHARED}}},
    /* Four ranks have the four neighbouring GPUs of the first switch, all at package 0, which has
     * two cores; there are cores for everyone, so the last two ranks go to package 1 and share
     * nothing. */
    {"hwloc/nvidiaDGX2.xml",
     NULL,
     4,
     {NULL},
     {{0, 0, "0", NULL, 0, NULL, 0},
      {1, 1, "1", NULL, 0, NULL, 0},
      {2, 2, "2", NULL, 1, NULL, 0},
      {3, 3, "3", NULL, 1, NULL, 0}}},

    /* Minsky, 2 POWER8 and 4 P100 without PCIe switches: two ranks and 4 cores per package. A core
     * here has two of its eight threads. */
    {"hwloc/power8gpudistances.xml",
     NULL,
     4,
     {NULL},
     {{0, 0, "0-1", "0-1,8-9", 0, NULL, 0},
      {1, 1, "2-3", "16-17,24-25", 0, NULL, 0},
      {2, 2, "4-5", "80-81,88-89", 1, NULL, 0},
      {3, 3, "6-7", "96-97,104-105", 1, NULL, 0}}},

    /* j3c053: the file does not say near which package the PCIe roots are. So the two ranks are
     * spread over the packages in order. There is one InfiniBand card. */
    {"hwloc/psmgmt-j3c053.xml",
     NULL,
     2,
     {NULL},
     {{0, 0, "0-7", NULL, 0, "mlx4_0", 0}, {1, 1, "8-15", NULL, 1, "mlx4_0", 0}}},
    /* One rank, whose GPU is nowhere: all cores. */
    {"hwloc/psmgmt-j3c053.xml", NULL, 1, {NULL}, {{0, 0, "0-15", NULL, 0, "mlx4_0", 0}}},

    /* A workstation: GPU 0 at package 0, GPUs 1 and 2 at package 1, where the only OpenFabrics card
     * is as well. Package 0 has one rank, package 1 two. The AMD card is a GPU, too, the
     * last one, but no rank gets it where there are others; the Matrox card is none. */
    {"hwloc/32em64t-2n8c2t-pci-wholeio.xml",
     NULL,
     3,
     {NULL},
     {{0, 0, "0-7", NULL, 0, "mlx5_0", 0},
      {1, 1, "8-11", NULL, 1, "mlx5_0", 0},
      {2, 2, "12-15", NULL, 1, "mlx5_0", 0}}},

    /* Sierra, in hwloc's old format: 22 cores per package; the GPUs' memory is four more NUMA
     * nodes, without cores, which no rank gets. */
    {"hwloc/flux-sierra2.xml",
     NULL,
     4,
     {NULL},
     {{0, 0, "0-10", "0-43", 0, "mlx5_0", 0},
      {1, 1, "11-21", "44-87", 0, "mlx5_1", 0},
      {2, 2, "22-32", "88-131", 1, "mlx5_2", 0},
      {3, 3, "33-43", "132-175", 1, "mlx5_3", 0}}},
};

START_TEST(places_on_machines)
{
    const machine_t *m            = &machines[_i];
    const char      *path         = test_data(m->file);
    tw_rank_t        facts[RANKS] = {{.binding = NULL}};
    tw_node_t       *node;

    ck_assert_msg(path != NULL, "%s is missing", m->file);
    node = test_node(path, m->visible);
    for (int r = 0; r < m->ranks; r++) {
        facts[r].binding = m->bindings[r];
    }
    test_places(node, m->ranks, facts, m->want);
    tw_node_destroy(node);
}
END_TEST

/* What a machine has; distances as the bus says them. */
START_TEST(parts_of_a_machine)
{
    tw_node_t *node = test_node(test_data("hwloc/mpibind-cts1-pascal.xml"), NULL);

    ck_assert_int_eq(tw_node_count(node, TW_PART_PACKAGE), 2);
    ck_assert_int_eq(tw_node_count(node, TW_PART_NUMA), 2);
    ck_assert_int_eq(tw_node_count(node, TW_PART_CORE), 36);
    ck_assert_int_eq(tw_node_count(node, TW_PART_GPU), 2);
    ck_assert_int_eq(tw_node_count(node, TW_PART_SWITCH),
                     1); /* the ASPEED and Ethernet share nothing */
    ck_assert_int_eq(tw_node_count(node, TW_PART_NIC), 3);
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 1)->bus, "0000:07:00.0");
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 1)->model, "Tesla P100-PCIE-16GB");
    ck_assert_int_eq(tw_node_distance(node, tw_node_find(node, TW_PART_GPU, 0),
                                      tw_node_find(node, TW_PART_NIC, 0)),
                     TW_NEAR_SWITCH);
    ck_assert_int_eq(tw_node_distance(node, tw_node_find(node, TW_PART_GPU, 0),
                                      tw_node_find(node, TW_PART_NIC, 1)),
                     TW_NEAR_ROOT);
    ck_assert_int_eq(tw_node_distance(node, tw_node_find(node, TW_PART_GPU, 0),
                                      tw_node_find(node, TW_PART_CORE, 17)),
                     TW_NEAR_NUMA);
    ck_assert_int_eq(tw_node_distance(node, tw_node_find(node, TW_PART_GPU, 0),
                                      tw_node_find(node, TW_PART_CORE, 18)),
                     TW_FAR);
    ck_assert_int_eq(tw_node_latency(node, 0, 0), 10);
    ck_assert_int_gt(tw_node_latency(node, 0, 1), 10);
    ck_assert_int_eq(tw_node_nvlink(node, 0, 1), 0);
    for (int i = 1; i < tw_node_parts(node); i++) {
        ck_assert_int_lt(tw_node_part(node, i)->parent, i);
        ck_assert_int_ge(tw_node_part(node, i)->parent, 0);
    }
    ck_assert_ptr_null(tw_node_part(node, tw_node_parts(node)));
    ck_assert_ptr_null(tw_node_find(node, TW_PART_GPU, 2));
    ck_assert_ptr_null(tw_node_find(node, TW_PART_GPU, -1));
    tw_node_destroy(node);
}
END_TEST

/* 16 GPUs, in hwloc's matrix two webs of eight: 7 rounds inside both at the same time. What is left
 * goes by PCIe: 8 x 8 pairs between the packages. Each package has two switches of four GPUs, so
 * two pairs may cross at a time: 32 rounds. */
START_TEST(dgx2_nvlink_first)
{
    tw_node_t  *node = test_node(test_data("hwloc/nvidiaDGX2.xml"), NULL);
    tw_round_t *rounds;
    int         gpus[16], count;

    for (int i = 0; i < 16; i++) {
        gpus[i] = i;
    }
    count = test_order(node, gpus, 16, &rounds);
    ck_assert_int_eq(count, 7 + 32);
    for (int r = 0; r < count; r++) {
        ck_assert_int_eq(rounds[r].nvlink, r < 7);
        ck_assert_int_eq(rounds[r].count, r < 7 ? 8 : 2);
    }
    /* 6 switches of 25 GB/s each join two GPUs of a web. */
    ck_assert_int_eq(tw_node_nvlink(node, 0, 7), 150000);
    ck_assert_int_eq(tw_node_nvlink(node, 0, 8), 0);
    free(rounds);
    tw_node_destroy(node);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machines");
    TCase *tcase = test_case(suite, "machines");

    if (test_data("hwloc") == NULL) {
        printf("1..0 # SKIP no recorded topologies here (set THINWIRE_DATA)\n");
        return EXIT_SUCCESS;
    }
    TEST_EACH(tcase, places_on_machines, machines);
    tcase_add_test(tcase, parts_of_a_machine);
    tcase_add_test(tcase, dgx2_nvlink_first);
    return test_main(suite);
}
