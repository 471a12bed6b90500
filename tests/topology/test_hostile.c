/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/test_hostile.c - files that are no topology, or half of one: refused in one line
 * that names the file, never a crash; what hwloc still accepts of a damaged one can be placed on.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/topology/common.h"

/* A file that must be refused: status, and a word of the line. */
static void refused(const char *path, tw_status_t status, const char *word)
{
    tw_node_t *node = NULL;

    ck_assert_int_eq(tw_node_create(test_context(), path, NULL, &node), status);
    ck_assert_ptr_null(node);
    ck_assert_int_eq(test_log_lines, 1);
    ck_assert_msg(strstr(test_log, path) != NULL, "the file is not named: %s", test_log);
    ck_assert_msg(strstr(test_log, word) != NULL, "no '%s': %s", word, test_log);
}

/* A damaged one: refused, or usable. */
static void survived(const char *path)
{
    tw_node_t  *node = NULL;
    tw_place_t *places;
    tw_round_t *rounds;
    int         gpus[TEST_GPUS], n, count;
    tw_status_t status = tw_node_create(test_context(), path, "1,0", &node);

    if (status != TW_OK) {
        ck_assert(status == TW_ERR_FORMAT || status == TW_ERR_UNSUPPORTED);
        ck_assert_ptr_null(node);
        return;
    }
    for (int ranks = 1; ranks < 40; ranks += 7) {
        ck_assert_int_eq(tw_place(node, ranks, NULL, &places), TW_OK);
        free(places);
    }
    n = tw_node_count(node, TW_PART_GPU) < TEST_GPUS ? tw_node_count(node, TW_PART_GPU) : TEST_GPUS;
    for (int i = 0; i < n; i++) {
        gpus[i] = i;
    }
    if (n > 0) {
        ck_assert_int_eq(tw_exchange_order(node, gpus, n, &rounds, &count), TW_OK);
        free(rounds);
    }
    tw_node_destroy(node);
}

START_TEST(files_that_are_none)
{
    static const char html[]  = "<html><topology-like></html>";
    static const char open[]  = "<topology version=\"2.0\"";
    static const char empty[] = "<topology version=\"2.0\"></topology>";
    static const char three[] = "<?xml version=\"1.0\"?><topology version=\"3.0\"></topology>";
    static const char later[] = "<topology version=\"99999999999999999999.0\"></topology>";
    static const char nul[]   = "<topology version=\"2.0\">\0</topology>";
    char             *large;

    refused("/nonexistent/machine.xml", TW_ERR_IO, "No such file");
    refused("/", TW_ERR_IO, "directory");
    refused("/dev/null", TW_ERR_FORMAT, "no topology");
    refused("/dev/zero", TW_ERR_FORMAT, "larger than 16 MiB");
    refused(test_write("", 0), TW_ERR_FORMAT, "no topology; accepted");
    refused(test_write(html, sizeof(html) - 1), TW_ERR_FORMAT, "no topology");
    refused(test_write(open, sizeof(open) - 1), TW_ERR_FORMAT, "no topology");
    refused(test_write(empty, sizeof(empty) - 1), TW_ERR_FORMAT, "incomplete");
    refused(test_write(nul, sizeof(nul) - 1), TW_ERR_FORMAT, "no topology");
    refused(test_write(three, sizeof(three) - 1), TW_ERR_UNSUPPORTED, "format 3.0,");
    refused(test_write(later, sizeof(later) - 1), TW_ERR_UNSUPPORTED, "accepted: format 2");
    large = malloc((16u << 20) + 1);
    memset(large, ' ', (16u << 20) + 1);
    memcpy(large, empty, sizeof(empty) - 1);
    refused(test_write(large, (16u << 20) + 1), TW_ERR_FORMAT, "larger than");
    refused(test_write(large, 16u << 20), TW_ERR_FORMAT, "incomplete");
    free(large);
    test_forget();
}
END_TEST

/* Objects in objects, until the file is full. */
START_TEST(deep_nesting)
{
    static const char head[] = "<topology version=\"2.0\">", level[] = "<object type=\"Group\">";
    const size_t      levels = 200000;
    char             *text   = malloc(sizeof(head) + levels * sizeof(level));
    size_t            used   = sizeof(head) - 1;

    memcpy(text, head, used);
    for (size_t i = 0; i < levels; i++) {
        memcpy(text + used, level, sizeof(level) - 1);
        used += sizeof(level) - 1;
    }
    survived(test_write(text, used));
    free(text);
    test_forget();
}
END_TEST

/* More PCI devices than any machine has. */
START_TEST(many_devices)
{
    static const char head[] =
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" "
        "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\" gp_index=\"1\"><object type=\"NUMANode\" "
        "os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\" gp_index=\"2\"/><object type=\"PU\" "
        "os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\" gp_index=\"3\"/>";
    static const char tail[]   = "</object></topology>";
    const int         counts[] = {100, 20000};
    char             *text     = malloc((size_t)4 << 20);
    tw_node_t        *node     = NULL;

    for (int i = 0; i < 2; i++) {
        size_t used = (size_t)sprintf(text, "%s", head);

        for (int d = 0; d < counts[i]; d++) {
            used += (size_t)sprintf(text + used,
                                    "<object type=\"PCIDev\" gp_index=\"%d\" "
                                    "pci_busid=\"%04x:%02x:00.0\" pci_type=\"0302 [10de:1db1] "
                                    "[0000:0000] a1\" pci_link_speed=\"0.0\"/>",
                                    d + 4, d / 256, d % 256);
        }
        used += (size_t)sprintf(text + used, "%s", tail);
        if (i == 0) {
            node = test_node(test_write(text, used), NULL);
            ck_assert_int_eq(tw_node_count(node, TW_PART_GPU), 100);
            tw_node_destroy(node);
        } else {
            ck_assert_int_eq(tw_node_create(test_context(), test_write(text, used), NULL, &node),
                             TW_ERR_FORMAT);
            ck_assert_ptr_nonnull(strstr(test_log, "/tmp/thinwire-topology."));
            ck_assert_ptr_nonnull(strstr(test_log, "PCI devices"));
        }
    }
    free(text);
    test_forget();
}
END_TEST

START_TEST(format_three)
{
    static const char *const files[] = {"v3-needs-hwloc3/nvidia-dgx-gb10.xml",
                                        "v3-needs-hwloc3/40intel64-2g2n4c+pcilocality.xml"};

    for (int i = 0; i < 2; i++) {
        const char *path = test_data(files[i]);

        ck_assert_msg(path != NULL, "%s is missing", files[i]);
        refused(path, TW_ERR_UNSUPPORTED, "format 3.0,");
    }
}
END_TEST

static const char *const victims[] = {"s4.xml", "hwloc/nvidiaDGX2.xml", "hwloc/psmgmt-jwb0001.xml",
                                      "hwloc/power8gpudistances.xml", "hwloc/flux-sierra2.xml"};

static char *victim(int i, size_t *size_p)
{
    const char *path = i == 0 ? test_source(victims[0]) : test_data(victims[i]);
    char       *text = path != NULL ? test_read(path, size_p) : NULL;

    ck_assert_msg(text != NULL, "%s is missing", victims[i]);
    return text;
}

/* hwloc takes what is before an error, here the machine without its hardware threads. */
START_TEST(without_threads)
{
    static const char text[] =
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" "
        "complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"1\"><object "
        "type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\" gp_index=\"2\"/>0000\"/><object type=\"PU\" os_index=\"0\" "
        "cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
        "gp_index=\"3\"/></object></topology>";

    refused(test_write(text, sizeof(text) - 1), TW_ERR_FORMAT, "topology");
    test_forget();
}
END_TEST

/* Without TW_ALL a third. */
static int share(void)
{
    return getenv("TW_ALL") != NULL ? 1 : 3;
}

/* Cut anywhere. */
START_TEST(truncated)
{
    test_random_t random = {test_seed() + 17};
    size_t        size;
    char         *text = victim(_i, &size);

    for (int i = 0; i < 30 / share(); i++) {
        survived(test_write(text, (size_t)test_below(&random, (int)size)));
    }
    free(text);
    test_forget();
}
END_TEST

/* Digits, quotes, brackets and whole attributes changed. */
START_TEST(mutated)
{
    static const char bytes[] = "0123456789abcdefx<>\"/=-, \n\377";
    test_random_t     random  = {test_seed() + 23};
    size_t            size;
    char             *text = victim(_i, &size), *copy = malloc(size);

    for (int i = 0; i < 60 / share(); i++) {
        memcpy(copy, text, size);
        for (int changes = 1 + test_below(&random, 6); changes > 0; changes--) {
            const size_t at = (size_t)test_below(&random, (int)size);

            if (test_below(&random, 4) > 0) { /* a digit for a digit: still XML */
                char *digit = memchr(copy + at, test_below(&random, 10) + '0', size - at);

                if (digit != NULL) {
                    *digit = bytes[test_below(&random, 16)];
                }
            } else {
                copy[at] = bytes[test_below(&random, (int)sizeof(bytes) - 1)];
            }
        }
        survived(test_write(copy, size));
    }
    free(copy);
    free(text);
    test_forget();
}
END_TEST

START_TEST(random_bytes)
{
    test_random_t random = {test_seed() + 29};
    char          bytes[4096];

    for (int i = 0; i < 50; i++) {
        const size_t size = (size_t)test_below(&random, (int)sizeof(bytes));

        for (size_t k = 0; k < size; k++) {
            bytes[k] = (char)test_next(&random);
        }
        if (i % 2 == 0 && size > 32) { /* past the first look */
            memcpy(bytes, "<topology version=\"2.0\">", 24);
            for (size_t k = 24; k < size; k++) {
                bytes[k] = bytes[k] != '\0' ? bytes[k] : ' ';
            }
        }
        survived(test_write(bytes, size));
    }
    test_forget();
}
END_TEST

int main(void)
{
    const int data  = test_data("hwloc") != NULL;
    Suite    *suite = suite_create("hostile");
    TCase    *tcase = test_case(suite, "hostile");

    if (!data) {
        printf("# only the tests' own machine: no recorded topologies here (set THINWIRE_DATA)\n");
    }
    tcase_add_test(tcase, files_that_are_none);
    tcase_add_test(tcase, deep_nesting);
    tcase_add_test(tcase, many_devices);
    tcase_add_test(tcase, without_threads);
    if (data) {
        tcase_add_test(tcase, format_three);
    }
    tcase_add_loop_test(tcase, truncated, 0, data ? 5 : 1);
    tcase_add_loop_test(tcase, mutated, 0, data ? 5 : 1);
    tcase_add_test(tcase, random_bytes);
    return test_main(suite);
}
