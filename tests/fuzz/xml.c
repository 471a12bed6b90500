/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/xml.c - topologies, and places, groups and orders of exchange on them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/topology.h>

#include "tests/fuzz/target.h"

static void use(const tw_node_t *node)
{
    const int   count = tw_node_count(node, TW_PART_GPU);
    tw_place_t *places;
    tw_round_t *rounds;
    int         gpus[8], order[20], n;
    char        network[64];

    for (int ranks = 1; ranks < 20; ranks += 9) {
        if (tw_place(node, ranks, NULL, &places) == TW_OK) {
            fuzz_check(tw_place_groups(node, places, ranks, (ranks + 2) / 3, order) == TW_OK,
                       "placed ranks have groups");
            tw_place_network(node, places, network, sizeof(network));
            free(places);
        }
    }
    for (int i = 0; i < tw_node_parts(node); i++) {
        const tw_part_t *part = tw_node_part(node, i);

        fuzz_check(part != NULL && strlen(part->name) < 1000, "a part has a name");
        tw_node_distance(node, part, tw_node_part(node, 0));
    }
    for (int i = 0; i < 8; i++) {
        gpus[i] = i;
    }
    if (count > 0 && tw_exchange_order(node, gpus, count < 8 ? count : 8, &rounds, &n) == TW_OK) {
        free(rounds);
    }
}

static bool run(const uint8_t *data, size_t size)
{
    tw_node_t  *node   = NULL;
    tw_status_t status = tw_node_create(fuzz_context(), fuzz_file(data, size), "0,1", &node);

    fuzz_check(status == TW_OK || status == TW_ERR_FORMAT || status == TW_ERR_UNSUPPORTED,
               "a file is a topology or is refused");
    if (status == TW_OK) {
        use(node);
        tw_node_destroy(node);
    }
    return status == TW_OK;
}

#define HEAD                                                                                       \
    "<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\">"   \
    "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\" "              \
    "allowed_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\" "     \
    "gp_index=\"1\"><object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" "                      \
    "complete_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"9\" "             \
    "local_memory=\"1000000\"/>"
#define CORE(n, bit)                                                                               \
    "<object type=\"Core\" os_index=\"" n "\" cpuset=\"0x" bit "\" complete_cpuset=\"0x" bit       \
    "\" nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"2" n "\"><object type=\"PU\" "         \
    "os_index=\"" n "\" cpuset=\"0x" bit "\" complete_cpuset=\"0x" bit "\" nodeset=\"0x1\" "       \
    "complete_nodeset=\"0x1\" gp_index=\"3" n "\"/></object>"
#define BUS                                                                                        \
    "<object type=\"Bridge\" gp_index=\"40\" bridge_type=\"0-1\" depth=\"0\" "                     \
    "bridge_pci=\"0000:[00-02]\"><object type=\"PCIDev\" gp_index=\"41\" "                         \
    "pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:20b0] [10de:134f] a1\" "                     \
    "pci_link_speed=\"31.5\"><info name=\"PCIVendor\" value=\"NVIDIA Corporation\"/></object>"     \
    "<object type=\"PCIDev\" gp_index=\"42\" pci_busid=\"0000:02:00.0\" "                          \
    "pci_type=\"0207 [15b3:101b] [15b3:0007] 00\" pci_link_speed=\"31.5\"><object "                \
    "type=\"OSDev\" gp_index=\"43\" name=\"mlx5_0\" osdev_type=\"3\"/></object></object>"
#define AMD                                                                                        \
    "<object type=\"OSDev\" gp_index=\"50\" name=\"rsmi0\" osdev_type=\"1\"/><object "             \
    "type=\"OSDev\" gp_index=\"51\" name=\"rsmi1\" osdev_type=\"1\"/>"
#define LINKS                                                                                      \
    "</object><distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"XGMIBandwidth\" "          \
    "indexing=\"gp\"><indexes length=\"6\">50 51 </indexes><u64values length=\"13\">"              \
    "9999 10 10 9 </u64values></distances2></topology>"
#define TAIL "</object></topology>"

static size_t seed(int index, uint8_t *data)
{
    static const char *const texts[] = {HEAD CORE("0", "1") CORE("1", "2") TAIL,
                                        HEAD CORE("0", "1") CORE("1", "2") BUS TAIL,
                                        HEAD CORE("0", "1") CORE("1", "2") AMD LINKS};

    return index < 3 ? fuzz_seed_text(data, texts[index]) : 0;
}

const fuzz_target_t fuzz_xml = {"xml", false, NULL, run, seed};
