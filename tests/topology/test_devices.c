/* SPDX-License-Identifier: BSD-3-Clause
 * tests/topology/test_devices.c - GPUs of AMD, their links and who gets them; and which rank takes
 * which device where CUDA has said what each rank sees, parts of GPUs (MIG) among them. On drawn
 * machines, against plain searches: no device rests while another has two ranks that could part,
 * none could come nearer, and all ranks of a node find the same.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/topology/common.h"

/* ---- AMD
 * -------------------------------------------------------------------------------------- */

static int count_gpus(const tw_node_t *node, int cuda)
{
    int n = 0;

    for (int i = 0; i < tw_node_count(node, TW_PART_GPU); i++) {
        n += tw_node_find(node, TW_PART_GPU, i)->cuda == cuda;
    }
    return n;
}

/* Two hives of four, a switch for every two GPUs and a card. Inside a hive 6 pairs, 2 at a time,
 * both hives at once: 3 rounds. The 16 pairs between hives go by PCIe, each of four switches lets
 * one out: 2 at a time, 8 rounds. */
START_TEST(amd_machine)
{
    static const int         gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const test_want_t want[] = {
        {0, -1, "0-1", "0-1", 0, "mlx5_0", 0},     {1, -1, "2-3", "2-3", 0, "mlx5_0", 0},
        {2, -1, "4-5", "4-5", 1, "mlx5_1", 0},     {3, -1, "6-7", "6-7", 1, "mlx5_1", 0},
        {4, -1, "8-9", "8-9", 2, "mlx5_2", 0},     {5, -1, "10-11", "10-11", 2, "mlx5_2", 0},
        {6, -1, "12-13", "12-13", 3, "mlx5_3", 0}, {7, -1, "14-15", "14-15", 3, "mlx5_3", 0}};
    tw_node_t  *node = test_node(test_source("amd8.xml"), NULL);
    tw_round_t *rounds;
    int         count;

    ck_assert_int_eq(count_gpus(node, 0), 8);
    ck_assert_int_eq(count_gpus(node, 1), 0);
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 5)->model, "Instinct MI250X");
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 5)->bus, "0000:53:00.0");
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) {
            ck_assert_int_eq(tw_node_nvlink(node, a, b), a != b && a / 4 == b / 4 ? 100000 : 0);
        }
    }
    test_places(node, 8, NULL, want);
    count = test_order(node, gpus, 8, &rounds);
    ck_assert_int_eq(count, 3 + 8);
    for (int r = 0; r < count; r++) {
        ck_assert_int_eq(rounds[r].nvlink, r < 3);
        ck_assert_int_eq(rounds[r].count, r < 3 ? 4 : 2);
    }
    free(rounds);
    tw_node_destroy(node);
}
END_TEST

/* The file, as text. */
static char *amd_file(size_t *size_p)
{
    char *xml = test_read(test_source("amd8.xml"), size_p);

    ck_assert_ptr_nonnull(xml);
    xml[*size_p] = '\0';
    return xml;
}

/* Every `from` becomes `to`, which is as long. */
static void replace(char *xml, const char *from, const char *to)
{
    for (char *at = strstr(xml, from); at != NULL; at = strstr(at + 1, from)) {
        memcpy(at, to, strlen(to));
    }
}

/* The file with every `from` become `to`. */
static tw_node_t *changed(const char *from, const char *to)
{
    size_t     size;
    char      *xml = amd_file(&size);
    tw_node_t *node;

    replace(xml, from, to);
    node = test_node(test_write(xml, size), NULL);
    free(xml);
    test_forget();
    return node;
}

/* What makes a PCI function of AMD a GPU: a display or 3D class, or what its libraries say of
 * it. */
static const struct {
    const char *from, *to;
    int         amd, cuda;
} kinds[] = {
    {"0380 [1002:740c]", "0302 [1002:740c]", 8, 0}, /* 3D                                     */
    {"0380 [1002:740c]", "1200 [1002:740c]", 8, 0}, /* an accelerator, but ROCm SMI knows it  */
    {"\"rsmi", "\"card", 8, 0},                     /* without ROCm SMI: by its class         */
    {"1002:740c] [1002", "10de:740c] [10de", 0, 8}, /* NVIDIA's, whatever hangs below         */
    {"1002:740c] [1002", "8086:740c] [8086", 0, 0}, /* Intel's                                */
    {"[1002:515e]", "[1002:67df]", 9, 0},           /* the console's chip is of this century  */
};

START_TEST(amd_kinds)
{
    tw_node_t *node = changed(kinds[_i].from, kinds[_i].to);

    ck_assert_int_eq(count_gpus(node, 0), kinds[_i].amd);
    ck_assert_int_eq(count_gpus(node, 1), kinds[_i].cuda);
    tw_node_destroy(node);
}
END_TEST

/* Accelerators that OpenCL alone knows: it says that they are GPUs of AMD, or processors, or
 * another's. */
START_TEST(amd_by_opencl)
{
    static const char *const kinds_of[][3] = {
        {"GPU", "AMD", "8"}, {"CPU", "AMD", "0"}, {"GPU", "XYZ", "0"}};
    size_t     size;
    char      *xml = amd_file(&size), from[64], to[64];
    tw_node_t *node;

    for (int i = 0; i < 8; i++) {
        snprintf(from, sizeof(from), "name=\"rsmi%d\" subtype=\"RSMI\"", i);
        snprintf(to, sizeof(to), "name=\"opencl%d\" subtype=\"CL\"", i);
        replace(xml, from, to);
    }
    replace(xml, "0380 [1002:740c]", "1200 [1002:740c]");
    snprintf(to, sizeof(to), "\"OpenCLDeviceType\" value=\"%s\"/>", kinds_of[_i][0]);
    replace(xml, "\"XGMIHiveID\" value=\"b015cafe\"/>\n", to);
    replace(xml, "\"XGMIHiveID\" value=\"b115cafe\"/>\n", to);
    snprintf(to, sizeof(to), "\"GPUVendor\" value=\"%s\"", kinds_of[_i][1]);
    replace(xml, "\"GPUVendor\" value=\"AMD\"", to);
    node = test_node(test_write(xml, size), NULL);
    ck_assert_int_eq(count_gpus(node, 0), atoi(kinds_of[_i][2]));
    ck_assert_int_eq(count_gpus(node, 1), 0);
    free(xml);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

/* ROCm SMI's devices where hwloc has seen no PCI: the machine's own, in its order. */
START_TEST(amd_without_pci)
{
    static const char text[] =
        "<?xml version=\"1.0\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\"><topology version=\"2.0\">"
        "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
        "nodeset=\"0x1\" complete_nodeset=\"0x1\" gp_index=\"1\"><object type=\"NUMANode\" "
        "os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\" gp_index=\"2\" local_memory=\"1000000\"/><object type=\"PU\" "
        "os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\" gp_index=\"3\"/>"
        "<object type=\"OSDev\" gp_index=\"50\" name=\"rsmi0\" osdev_type=\"1\">"
        "<info name=\"GPUModel\" value=\"Instinct MI100\"/></object>"
        "<object type=\"OSDev\" gp_index=\"51\" name=\"rsmi1\" osdev_type=\"1\"/></object>"
        "<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"XGMIBandwidth\" "
        "indexing=\"gp\"><indexes length=\"6\">50 51 </indexes><u64values length=\"15\">"
        "9999 700 701 9 </u64values></distances2></topology>";
    tw_node_t *node = test_node(test_write(text, sizeof(text) - 1), NULL);

    ck_assert_int_eq(count_gpus(node, 0), 2);
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 0)->model, "Instinct MI100");
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 1)->bus, "");
    ck_assert_int_eq(tw_node_nvlink(node, 0, 1), 700);
    ck_assert_int_eq(tw_node_nvlink(node, 1, 0), 701);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

/* A card of NVIDIA's beside seven of AMD's: it is GPU 0 wherever it stands, and all ranks have
 * it. */
START_TEST(amd_beside_nvidia)
{
    tw_node_t  *node = changed("0000:53:00.0\" pci_type=\"0380 [1002:740c]",
                               "0000:53:00.0\" pci_type=\"0302 [10de:740c]");
    tw_place_t *places;

    ck_assert_int_eq(count_gpus(node, 1), 1);
    ck_assert_int_eq(count_gpus(node, 0), 7);
    ck_assert_str_eq(tw_node_find(node, TW_PART_GPU, 0)->bus, "0000:53:00.0");
    ck_assert_int_eq(tw_node_find(node, TW_PART_GPU, 0)->device, 0);
    ck_assert_int_eq(tw_node_find(node, TW_PART_GPU, 1)->device, -1);
    ck_assert_int_eq(tw_place(node, 2, NULL, &places), TW_OK);
    for (int r = 0; r < 2; r++) {
        ck_assert(places[r].gpu == 0 && places[r].device == 0);
        ck_assert_int_eq((int)(places[r].shared & TW_SHARED_GPU), TW_SHARED_GPU);
    }
    free(places);
    tw_node_destroy(node);
}
END_TEST

/* Links that join not each with each: a ring of four per package. Of each ring 4 pairs meet by
 * links, 2 at a time in 2 rounds, both rings at once; the others by PCIe. */
START_TEST(ring_of_links)
{
    static const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    size_t           size, used;
    char            *xml = test_read(test_source("amd8.xml"), &size), *head, *tail, *text;
    tw_node_t       *node;
    tw_round_t      *rounds;
    int              count;

    ck_assert_ptr_nonnull(xml);
    xml[size] = '\0';
    head      = strstr(xml, "<u64values");
    tail      = strstr(xml, "</distances2>");
    ck_assert(head != NULL && tail != NULL && head < tail);
    text = malloc(size + 4096);
    used = (size_t)(head - xml);
    memcpy(text, xml, used);
    for (int a = 0; a < 8; a++) {
        char row[128] = "";

        for (int b = 0; b < 8; b++) {
            const int by = (a - b + 8) % 4;

            strcat(row, a == b ? "1000000 " : a / 4 == b / 4 && by % 2 == 1 ? "50000 " : "0 ");
        }
        used += (size_t)sprintf(text + used, "<u64values length=\"%zu\">%s</u64values>\n",
                                strlen(row), row);
    }
    memcpy(text + used, tail, strlen(tail));
    used += strlen(tail);
    node  = test_node(test_write(text, used), NULL);
    count = test_order(node, gpus, 8, &rounds);
    for (int r = 0; r < count; r++) {
        ck_assert_int_eq(rounds[r].nvlink, r < 2);
        ck_assert(r >= 2 || rounds[r].count == 4);
        for (int k = 0; k < rounds[r].count; k++) {
            const int linked = tw_node_nvlink(node, rounds[r].pairs[k].a, rounds[r].pairs[k].b) > 0;

            ck_assert_int_eq(linked, r < 2);
        }
    }
    free(rounds);
    free(text);
    free(xml);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

/* ---- what CUDA says
 * --------------------------------------------------------------------------- */

/* Four ranks, each in a device cgroup of its own: all say CUDA_VISIBLE_DEVICES=0, and mean
 * another. */
START_TEST(own_cgroups)
{
    const tw_rank_t  facts[] = {{.visible = "0", .devices = "0000:86:00.0"},
                                {.visible = "0", .devices = "0000:04:00.0"},
                                {.visible = "0", .devices = "00000000:83:00.0"},
                                {.visible = "0", .devices = "0000:03:00.0"}};
    static const int want[]  = {7, 1, 4, 0};
    tw_node_t       *node    = test_node(test_source("s4.xml"), "0");
    tw_place_t      *places;

    ck_assert_int_eq(tw_place(node, 4, facts, &places), TW_OK);
    for (int r = 0; r < 4; r++) {
        ck_assert(places[r].gpu == want[r] && places[r].device == 0);
        ck_assert_int_eq((int)places[r].shared, 0);
    }
    free(places);
    tw_node_destroy(node);
}
END_TEST

/* Parts of one GPU are devices of their own; the same part is shared. */
START_TEST(parts_of_a_gpu)
{
    const tw_rank_t facts[] = {{.devices = "0000:03:00.0/MIG-a"},
                               {.devices = "0000:03:00.0/MIG-b"},
                               {.devices = "0000:04:00.0/MIG-c"},
                               {.devices = "0000:04:00.0/MIG-c"}};
    tw_node_t      *node    = test_node(test_source("s4.xml"), NULL);
    tw_place_t     *places;

    ck_assert_int_eq(tw_place(node, 4, facts, &places), TW_OK);
    for (int r = 0; r < 4; r++) {
        ck_assert(places[r].gpu == r / 2 && places[r].device == 0);
        ck_assert_int_eq((int)places[r].shared, r < 2 ? 0 : TW_SHARED_GPU);
    }
    ck_assert_ptr_nonnull(strstr(test_log, "4 local ranks on 3 GPUs: 2 of them"));
    free(places);
    tw_node_destroy(node);
}
END_TEST

/* By the older names of parts, which say the GPU; of the newer only CUDA knows it. CUDA shows one
 * part only. The file's GPUs become NVIDIA's, whose UUIDs hwloc has from NVML. */
START_TEST(visible_parts)
{
    static const struct {
        const char *visible;
        int         gpu;
        const char *said; /* NULL: nothing */
    } texts[] = {{"MIG-GPU-a4c001/1/0,MIG-GPU-a5c001/1/0", 4, NULL},
                 {"MIG-GPU-99/1/0", -1, "known to CUDA only"},
                 {"MIG-0f2a", -1, "known to CUDA only"}};
    size_t      size;
    char       *xml = test_read(test_source("amd8.xml"), &size), *at;
    tw_node_t  *node;
    tw_place_t *places;

    ck_assert_ptr_nonnull(xml);
    xml[size] = '\0';
    while ((at = strstr(xml, "0380 [1002:740c]")) != NULL) {
        memcpy(at, "0302 [10de", 10);
    }
    while ((at = strstr(xml, "\"AMDUUID\" value=\"")) != NULL) { /* as many letters */
        char      line[64];
        const int n = snprintf(line, sizeof(line), "\"NVIDIAUUID\" value=\"GPU-%.2sc001\"/>",
                               at + strlen("\"AMDUUID\" value=\""));

        memcpy(at, line, (size_t)n);
        memset(at + n, ' ', strcspn(at + n, "\n"));
    }
    node = test_node(test_write(xml, size), NULL);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const tw_rank_t fact = {.visible = texts[i].visible};

        test_context();
        ck_assert_int_eq(tw_place(node, 1, &fact, &places), TW_OK);
        ck_assert_int_eq(places[0].gpu, texts[i].gpu);
        ck_assert_int_eq(places[0].device, texts[i].gpu >= 0 ? 0 : -1);
        ck_assert(texts[i].said == NULL ? test_log_lines == 0
                                        : strstr(test_log, texts[i].said) != NULL);
        free(places);
    }
    free(xml);
    tw_node_destroy(node);
    test_forget();
}
END_TEST

/* Devices that the map does not show (a container without PCI) are spread all the same. */
START_TEST(devices_off_the_map)
{
    const tw_rank_t fact    = {.devices = "0000:aa:00.0,0000:03:00.0,0000:bb:00.0"};
    const tw_rank_t facts[] = {fact, fact, fact, fact};
    tw_node_t      *node    = test_node(test_source("s4.xml"), NULL);
    tw_place_t     *places;

    ck_assert_int_eq(tw_place(node, 4, facts, &places), TW_OK);
    for (int r = 0; r < 4; r++) {
        ck_assert_int_eq(places[r].device, r % 3);
        ck_assert_int_eq(places[r].gpu, r == 1 ? 0 : -1);
        ck_assert_int_eq((int)(places[r].shared & TW_SHARED_GPU), r % 3 == 0 ? TW_SHARED_GPU : 0);
    }
    free(places);
    tw_node_destroy(node);
}
END_TEST

/* ---- drawn machines
 * --------------------------------------------------------------------------- */

#define RANKS   24
#define DEVICES 48 /* of a machine, parts included */

typedef struct drawn_devices {
    tw_node_t *node;
    int        ranks, devices;
    char       name[DEVICES][64];
    int        gpu[DEVICES];
    int        sees[RANKS][DEVICES], count[RANKS]; /* devices in the rank's order */
    char       text[RANKS][64 * DEVICES], binding[RANKS][32];
    tw_rank_t  facts[RANKS];
    int        taken[RANKS]; /* device of the drawing; -1: none */
} drawn_devices_t;

static void draw_rank(test_random_t *random, drawn_devices_t *d, int r)
{
    const int few   = test_below(random, 2);
    const int cores = tw_node_count(d->node, TW_PART_CORE);

    for (int i = 0; i < d->devices; i++) {
        if (test_below(random, 4) < (few ? 1 : 3)) {
            d->sees[r][d->count[r]++] = i;
        }
    }
    for (int i = d->count[r] - 1; i > 0; i--) {
        const int j = test_below(random, i + 1), x = d->sees[r][i];

        d->sees[r][i] = d->sees[r][j];
        d->sees[r][j] = x;
    }
    for (int i = 0; i < d->count[r]; i++) {
        strcat(d->text[r], i > 0 ? "," : "");
        strcat(d->text[r], d->name[d->sees[r][i]]);
    }
    d->facts[r].devices = d->text[r];
    if (test_below(random, 3) > 0) {
        const int from = test_below(random, cores);

        snprintf(d->binding[r], sizeof(d->binding[r]), "%d-%d", from,
                 from + test_below(random, cores - from));
    }
    d->facts[r].binding = d->binding[r];
}

static void draw_devices(test_random_t *random, drawn_devices_t *d, const char **path_p)
{
    size_t size;
    char  *xml = test_random_machine(random, &size);

    memset(d, 0, sizeof(*d));
    *path_p = test_write(xml, size);
    d->node = test_node(*path_p, NULL);
    for (int g = 0; g < tw_node_count(d->node, TW_PART_GPU) && d->devices + 3 < DEVICES; g++) {
        const int parts = test_below(random, 5) == 0 ? 1 + test_below(random, 3) : 0;

        for (int p = 0; p < (parts > 0 ? parts : 1); p++) {
            snprintf(d->name[d->devices], sizeof(d->name[0]), parts > 0 ? "%s/MIG-%d" : "%s",
                     tw_node_find(d->node, TW_PART_GPU, g)->bus, p);
            d->gpu[d->devices++] = g;
        }
    }
    if (test_below(random, 3) == 0) {
        snprintf(d->name[d->devices], sizeof(d->name[0]), "00f0:00:00.0");
        d->gpu[d->devices++] = -1;
    }
    d->ranks = 1 + test_below(random, RANKS);
    for (int r = 0; r < d->ranks; r++) {
        draw_rank(random, d, r);
    }
    free(xml);
}

/* Kuhn's algorithm: a rank for device v, others giving way. */
static int augment(const drawn_devices_t *d, int r, int *owner, int *seen)
{
    for (int i = 0; i < d->count[r]; i++) {
        const int v = d->sees[r][i];

        if (!seen[v]) {
            seen[v] = 1;
            if (owner[v] < 0 || augment(d, owner[v], owner, seen)) {
                owner[v] = r;
                return 1;
            }
        }
    }
    return 0;
}

/* As many devices are used as could be, and nobody could go to one that has two ranks less. */
static void check_spread(const drawn_devices_t *d)
{
    int owner[DEVICES], users[DEVICES] = {0}, used = 0, most = 0;

    for (int v = 0; v < d->devices; v++) {
        owner[v] = -1;
    }
    for (int r = 0; r < d->ranks; r++) {
        int seen[DEVICES] = {0};

        most += augment(d, r, owner, seen);
        users[d->taken[r] >= 0 ? d->taken[r] : 0] += d->taken[r] >= 0;
    }
    for (int v = 0; v < d->devices; v++) {
        used += users[v] > 0;
    }
    ck_assert_int_eq(used, most);
    for (int r = 0; r < d->ranks; r++) {
        for (int i = 0; i < d->count[r]; i++) {
            ck_assert_int_ge(users[d->sees[r][i]] + 1, users[d->taken[r]]);
        }
    }
}

static int far_from(const drawn_devices_t *d, int r, int device)
{
    const tw_part_t *gpu = tw_node_find(d->node, TW_PART_GPU, d->gpu[device]);
    int              low, high, far = 2;

    if (d->binding[r][0] == '\0') {
        return 0;
    }
    ck_assert_int_eq(sscanf(d->binding[r], "%d-%d", &low, &high), 2);
    if (low == 0 && high == tw_node_count(d->node, TW_PART_CORE) - 1) {
        return 0; /* all of the machine is no binding */
    }
    for (int c = low; gpu != NULL && c <= high; c++) {
        const tw_distance_t distance =
            tw_node_distance(d->node, gpu, tw_node_find(d->node, TW_PART_CORE, c));

        far = distance <= TW_NEAR_NUMA ? 0 : distance == TW_NEAR_PACKAGE && far > 1 ? 1 : far;
    }
    for (int p = gpu != NULL ? gpu->parent : 0; p > 0; p = tw_node_part(d->node, p)->parent) {
        if (tw_node_part(d->node, p)->kind == TW_PART_PACKAGE) {
            return far;
        }
    }
    return 1; /* nobody knows */
}

static int sees(const drawn_devices_t *d, int r, int device)
{
    for (int i = 0; i < d->count[r]; i++) {
        if (d->sees[r][i] == device) {
            return 1;
        }
    }
    return 0;
}

/* No rank has a nearer device that has fewer ranks, and no two would be nearer together by a
 * swap. */
static void check_near(const drawn_devices_t *d)
{
    int users[DEVICES] = {0};

    for (int r = 0; r < d->ranks; r++) {
        users[d->taken[r] >= 0 ? d->taken[r] : 0] += d->taken[r] >= 0;
    }
    for (int r = 0; r < d->ranks; r++) {
        const int p = d->taken[r];

        for (int i = 0; i < d->count[r]; i++) {
            const int v = d->sees[r][i];

            ck_assert_msg(users[v] >= users[p] || far_from(d, r, v) >= far_from(d, r, p),
                          "rank %d could be nearer", r);
        }
        for (int s = 0; s < d->ranks && p >= 0; s++) {
            const int q = d->taken[s];

            if (q >= 0 && sees(d, r, q) && sees(d, s, p)) {
                ck_assert_msg(far_from(d, r, q) + far_from(d, s, p) >=
                                  far_from(d, r, p) + far_from(d, s, q),
                              "ranks %d and %d should swap", r, s);
            }
        }
    }
}

START_TEST(random_devices)
{
    test_random_t          random = {test_seed() + 1000u * (uint64_t)_i};
    static drawn_devices_t d;
    tw_place_t            *places, *again;
    tw_node_t             *twin;
    const char            *path;

    draw_devices(&random, &d, &path);
    ck_assert_int_eq(tw_place(d.node, d.ranks, d.facts, &places), TW_OK);
    for (int r = 0; r < d.ranks; r++) {
        ck_assert_int_eq(places[r].device >= 0, d.count[r] > 0);
        ck_assert_int_lt(places[r].device, d.count[r] > 0 ? d.count[r] : 1);
        d.taken[r] = places[r].device >= 0 ? d.sees[r][places[r].device] : -1;
        ck_assert_int_eq(places[r].gpu, d.taken[r] >= 0 ? d.gpu[d.taken[r]] : -1);
    }
    check_spread(&d);
    check_near(&d);
    /* Another rank of the node sees none of it, and finds the same. */
    twin = NULL;
    ck_assert_int_eq(tw_node_create(test_context(), path, "", &twin), TW_OK);
    ck_assert_int_eq(tw_place(twin, d.ranks, d.facts, &again), TW_OK);
    for (int r = 0; r < d.ranks; r++) {
        ck_assert(places[r].gpu == again[r].gpu && places[r].device == again[r].device &&
                  places[r].nic == again[r].nic && places[r].shared == again[r].shared);
        ck_assert_str_eq(places[r].pus, again[r].pus);
    }
    free(places);
    free(again);
    tw_node_destroy(twin);
    tw_node_destroy(d.node);
    test_forget();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("devices");
    TCase *tcase = test_case(suite, "devices");

    tcase_add_test(tcase, amd_machine);
    TEST_EACH(tcase, amd_kinds, kinds);
    tcase_add_loop_test(tcase, amd_by_opencl, 0, 3);
    tcase_add_test(tcase, amd_without_pci);
    tcase_add_test(tcase, amd_beside_nvidia);
    tcase_add_test(tcase, ring_of_links);
    tcase_add_test(tcase, own_cgroups);
    tcase_add_test(tcase, parts_of_a_gpu);
    tcase_add_test(tcase, visible_parts);
    tcase_add_test(tcase, devices_off_the_map);
    tcase_add_loop_test(tcase, random_devices, 0, 300);
    return test_main(suite);
}
