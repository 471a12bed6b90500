/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/common.h - what the topology tests share: nodes from files, a log that is kept,
 * random machines.
 */
#ifndef TW_TESTS_TOPOLOGY_COMMON_H
#define TW_TESTS_TOPOLOGY_COMMON_H

#include <thinwire/topology.h>

#include "tests/suite.h"

/* A context whose log lines are counted and kept, the last one last. */
tw_context_t *test_context(void);
extern int    test_log_lines;
extern char   test_log[4096];

/* A file in the folder of data sets (hwloc/ and v3-needs-hwloc3/ of topologies), or of the tests.
 * NULL: there is none. The string is static. */
const char *test_data(const char *name);
const char *test_source(const char *name);

/* All of a file, for the caller to free; NULL if it cannot be read. */
char *test_read(const char *path, size_t *size_p);

/* A temporary file with these bytes; the name is static, the file removed by test_forget(). */
const char *test_write(const void *bytes, size_t size);
void        test_forget(void);

/* A node from a file, or a failed test. */
tw_node_t *test_node(const char *path, const char *visible);

/* Numbers as "0-3,8". */
void test_list(const int *numbers, int count, char *text, size_t size);

/* What a rank should get. */
typedef struct test_want {
    int         gpu, device;
    const char *cores;
    const char *pus; /* NULL: not looked at */
    int         numa;
    const char *nic; /* NULL: none          */
    unsigned    shared;
} test_want_t;

/* Fails unless the ranks get just that. */
void test_places(const tw_node_t *node, int ranks, const tw_rank_t *facts, const test_want_t *want);

#define TEST_GPUS 64

/* The order of exchange of a set of GPUs; fails unless every pair stands in one round, every round
 * is a matching, and, but for NVLink, across each switch goes one pair at most in a round, and none
 * before all pairs below it have met. Returns the number of rounds. */
int test_order(const tw_node_t *node, const int *gpus, int n, tw_round_t **rounds_p);

/* XML of a machine that is drawn: packages, NUMA nodes, cores, roots, switches in switches, GPUs
 * and network interfaces anywhere. For the caller to free. */
char *test_random_machine(test_random_t *random, size_t *size_p);

#endif /* TW_TESTS_TOPOLOGY_COMMON_H */
