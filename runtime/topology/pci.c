/* SPDX-License-Identifier: BSD-3-Clause
 * topology/pci.c - GPUs, network interfaces, and the PCIe roots and switches they hang on.
 *
 * A GPU is a display or 3D device of NVIDIA, which is what CUDA counts, or of AMD; or one of AMD's
 * that hwloc knows by ROCm SMI or OpenCL, whatever its class. A network interface is a PCI
 * function with a network or OpenFabrics device of the system, or such a device without PCI. Of the
 * bridges only those are kept that several cards share, because a shared link upwards is all that a
 * PCIe switch means here; a chain of bridges to one card is just the way there.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topology/node.h"

#define TW_PCI_MOST    8192 /* of a kind; more is no machine, but would take long */
#define TW_PCI_NVIDIA  0x10de
#define TW_PCI_AMD     0x1002
#define TW_PCI_DISPLAY 0x03 /* base class */

/* AMD's numbers of devices from before 2007, which servers carry for a console. */
#define TW_PCI_AMD_OLD(device) ((device) >= 0x3000 && (device) < 0x6000)

/* A device of the system by which AMD's libraries compute: "rsmi0", or an OpenCL device that says
 * that it is a GPU. */
static int tw_is_amd_device(hwloc_obj_t obj)
{
    if (obj->type != HWLOC_OBJ_OS_DEVICE || obj->name == NULL) {
        return 0;
    }
    return strncmp(obj->name, "rsmi", 4) == 0 ||
           (strncmp(obj->name, "opencl", 6) == 0 &&
            strcmp(tw_hwloc_info(obj, "OpenCLDeviceType"), "GPU") == 0 &&
            (strstr(tw_hwloc_info(obj, "GPUVendor"), "AMD") != NULL ||
             strstr(tw_hwloc_info(obj, "GPUVendor"), "Advanced Micro Devices") != NULL));
}

static int tw_is_amd(hwloc_obj_t obj)
{
    if (obj->type == HWLOC_OBJ_OS_DEVICE) { /* without its PCI function */
        return tw_is_amd_device(obj) && obj->parent->type != HWLOC_OBJ_PCI_DEVICE &&
               strncmp(obj->name, "rsmi", 4) == 0;
    }
    if (obj->type != HWLOC_OBJ_PCI_DEVICE || obj->attr->pcidev.vendor_id != TW_PCI_AMD) {
        return 0;
    }
    for (hwloc_obj_t c = obj->io_first_child; c != NULL; c = c->next_sibling) {
        if (tw_is_amd_device(c)) {
            return 1;
        }
    }
    return obj->attr->pcidev.class_id >> 8 == TW_PCI_DISPLAY &&
           !TW_PCI_AMD_OLD(obj->attr->pcidev.device_id);
}

static int tw_is_gpu(hwloc_obj_t obj)
{
    return (obj->type == HWLOC_OBJ_PCI_DEVICE && obj->attr->pcidev.vendor_id == TW_PCI_NVIDIA &&
            obj->attr->pcidev.class_id >> 8 == TW_PCI_DISPLAY) ||
           tw_is_amd(obj);
}

static int tw_is_net(hwloc_obj_t obj)
{
    return obj->type == HWLOC_OBJ_OS_DEVICE &&
           (obj->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
            obj->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS);
}

/* A network interface: the PCI function, or the system's device where it has no PCI function. */
static int tw_is_nic(hwloc_obj_t obj)
{
    if (obj->type == HWLOC_OBJ_PCI_DEVICE) {
        for (hwloc_obj_t c = obj->io_first_child; c != NULL; c = c->next_sibling) {
            if (tw_is_net(c)) {
                return 1;
            }
        }
        return 0;
    }
    return tw_is_net(obj) && obj->parent->type != HWLOC_OBJ_PCI_DEVICE;
}

/* Whether something below obj, or obj itself, is kept. */
static int tw_holds_devices(hwloc_obj_t obj)
{
    if (tw_is_gpu(obj) || tw_is_nic(obj)) {
        return 1;
    }
    for (hwloc_obj_t c = obj->io_first_child; c != NULL; c = c->next_sibling) {
        if (tw_holds_devices(c)) {
            return 1;
        }
    }
    return 0;
}

/* Cards below a bridge, counting no further than 2: functions of one card are one. */
static int tw_cards(hwloc_obj_t bridge)
{
    hwloc_obj_t last  = NULL;
    int         cards = 0;

    for (hwloc_obj_t c = bridge->io_first_child; c != NULL && cards < 2; c = c->next_sibling) {
        if (!tw_holds_devices(c)) {
            continue;
        }
        if (last == NULL || c->type != HWLOC_OBJ_PCI_DEVICE || last->type != HWLOC_OBJ_PCI_DEVICE ||
            c->attr->pcidev.bus != last->attr->pcidev.bus ||
            c->attr->pcidev.dev != last->attr->pcidev.dev ||
            c->attr->pcidev.domain != last->attr->pcidev.domain) {
            cards++;
        }
        last = c;
    }
    return cards;
}

static void tw_bus_text(char *text, size_t size, const struct hwloc_pcidev_attr_s *pci)
{
    snprintf(text, size, "%04x:%02x:%02x.%01x", (unsigned)pci->domain, (unsigned)pci->bus,
             (unsigned)pci->dev, (unsigned)pci->func & 0xfu);
}

static uint64_t tw_bus_key(const struct hwloc_pcidev_attr_s *pci)
{
    return (uint64_t)pci->domain << 24 | (uint64_t)pci->bus << 16 | (uint64_t)pci->dev << 8 |
           pci->func;
}

/* Model and UUID of a GPU: from its devices in the system, else from PCI's list of names. */
static void tw_gpu_names(hwloc_obj_t obj, tw_part_t *part, tw_gpu_facts_t *facts)
{
    const int   alone = obj->type == HWLOC_OBJ_OS_DEVICE;
    const char *model = hwloc_obj_get_info_by_name(obj, alone ? "GPUModel" : "PCIDevice");
    const char *uuid  = NULL;

    for (hwloc_obj_t c = obj->io_first_child; c != NULL; c = c->next_sibling) {
        const char *name = hwloc_obj_get_info_by_name(c, "GPUModel");
        const char *id   = hwloc_obj_get_info_by_name(c, "NVIDIAUUID");

        model = name != NULL ? name : model;
        uuid  = id != NULL ? id : uuid;
    }
    if (model != NULL || alone) {
        tw_node_text(part->model, sizeof(part->model), model != NULL ? model : "AMD");
    } else {
        snprintf(part->model, sizeof(part->model), "PCI %04x:%04x",
                 (unsigned)obj->attr->pcidev.vendor_id, (unsigned)obj->attr->pcidev.device_id);
    }
    tw_node_text(facts->uuid, sizeof(facts->uuid), uuid != NULL ? uuid : "");
}

static int tw_add_gpu(tw_node_t *node, hwloc_obj_t obj, int parent, tw_where_t where)
{
    const int       n    = node->count[TW_PART_GPU];
    tw_gpu_facts_t *more = realloc(node->gpus, ((size_t)n + 1) * sizeof(*more));
    int             at;

    if (more == NULL) {
        return 0;
    }
    node->gpus = more;
    at         = tw_node_add(node, TW_PART_GPU, parent, where);
    if (at < 0) {
        return 0;
    }
    more[n]              = (tw_gpu_facts_t){.part = at, .object = obj->gp_index};
    node->parts[at].cuda = !tw_is_amd(obj);
    more[n].barred       = !node->parts[at].cuda;
    if (obj->type == HWLOC_OBJ_PCI_DEVICE) {
        more[n].bus = tw_bus_key(&obj->attr->pcidev);
        tw_bus_text(node->parts[at].bus, sizeof(node->parts[at].bus), &obj->attr->pcidev);
    } else {
        more[n].bus = UINT64_MAX;
    }
    tw_gpu_names(obj, &node->parts[at], &more[n]);
    return 1;
}

/* A port of an InfiniBand device that is up has state 4; the first such is *port_p. */
static int tw_ports_down(hwloc_obj_t device, int *port_p)
{
    int known = 0;

    *port_p = 1;
    for (int port = 1; port <= 8; port++) {
        char        name[16];
        const char *state;

        snprintf(name, sizeof(name), "Port%dState", port);
        state = hwloc_obj_get_info_by_name(device, name);
        if (state != NULL) {
            known = 1;
            if (atoi(state) == 4) {
                *port_p = port;
                return 0;
            }
        }
    }
    return known;
}

/* The subnet of an InfiniBand port: the first half of its GID. A port without a LID is Ethernet's
 * (RoCE), whose GIDs are made of addresses and say nothing. */
static void tw_port_subnet(hwloc_obj_t device, int port, char *subnet, size_t size)
{
    char        name[16];
    const char *gid;

    snprintf(name, sizeof(name), "Port%dLID", port);
    subnet[0] = '\0';
    if (strtoul(tw_hwloc_info(device, name), NULL, 16) == 0) {
        return;
    }
    snprintf(name, sizeof(name), "Port%dGID0", port);
    gid = tw_hwloc_info(device, name);
    if (strspn(gid, "0123456789abcdefABCDEF:") == 39 && gid[19] == ':' && gid[39] == '\0') {
        snprintf(subnet, size, "%.19s", gid);
    }
}

/* The OpenFabrics name first, then the others. */
static void tw_nic_name(hwloc_obj_t device, tw_part_t *part)
{
    const int   fabric = device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    const char *name   = device->name != NULL ? device->name : "net";
    char        others[sizeof(part->model)];
    size_t      used;

    if (fabric && part->fabric == 0 &&
        part->name[0] != '\0') { /* what stood there becomes another */
        snprintf(others, sizeof(others), "%.60s%s%.32s", part->name,
                 part->model[0] != '\0' ? ", " : "", part->model);
        memcpy(part->model, others, sizeof(others));
        part->name[0] = '\0';
    }
    if (fabric) {
        int       port;
        const int down = tw_ports_down(device, &port);

        if (!part->fabric || !part->active) {
            part->port = port;
            tw_port_subnet(device, port, part->subnet, sizeof(part->subnet));
        }
        part->active = (part->fabric && part->active) || !down;
        part->fabric = 1;
    }
    if (part->name[0] == '\0') {
        tw_node_text(part->name, sizeof(part->name), name);
        return;
    }
    used = strlen(part->model);
    if (used + strlen(name) + 3 < sizeof(part->model)) {
        tw_node_text(part->model + used, sizeof(part->model) - used, used > 0 ? ", " : "");
        used = strlen(part->model);
        tw_node_text(part->model + used, sizeof(part->model) - used, name);
    }
}

static int tw_add_nic(tw_node_t *node, hwloc_obj_t obj, int parent, tw_where_t where)
{
    const int at = tw_node_add(node, TW_PART_NIC, parent, where);

    if (at < 0) {
        return 0;
    }
    if (obj->type == HWLOC_OBJ_OS_DEVICE) {
        tw_nic_name(obj, &node->parts[at]);
        return 1;
    }
    tw_bus_text(node->parts[at].bus, sizeof(node->parts[at].bus), &obj->attr->pcidev);
    for (hwloc_obj_t c = obj->io_first_child; c != NULL; c = c->next_sibling) {
        if (tw_is_net(c)) {
            tw_nic_name(c, &node->parts[at]);
        }
    }
    return 1;
}

/* obj and what is below it, under `parent`. */
static int tw_add_io(tw_node_t *node, hwloc_obj_t obj, int parent, tw_where_t where)
{
    if (tw_is_gpu(obj)) {
        return tw_add_gpu(node, obj, parent, where);
    }
    if (tw_is_nic(obj)) {
        return tw_add_nic(node, obj, parent, where);
    }
    if (obj->type != HWLOC_OBJ_BRIDGE || !tw_holds_devices(obj)) {
        return 1;
    }
    if (obj->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
        parent = tw_node_add(node, TW_PART_ROOT, parent, where);
        if (parent >= 0) {
            snprintf(node->parts[parent].name, sizeof(node->parts[parent].name),
                     "PCIe root %04x:%02x", (unsigned)obj->attr->bridge.downstream.pci.domain,
                     (unsigned)obj->attr->bridge.downstream.pci.secondary_bus);
        }
    } else if (tw_cards(obj) > 1) {
        parent = tw_node_add(node, TW_PART_SWITCH, parent, where);
        if (parent >= 0) {
            snprintf(node->parts[parent].name, sizeof(node->parts[parent].name), "PCIe switch %d",
                     node->parts[parent].index);
        }
    }
    for (hwloc_obj_t c = obj->io_first_child; c != NULL && parent >= 0; c = c->next_sibling) {
        if (!tw_add_io(node, c, parent, where)) {
            return 0;
        }
    }
    return parent >= 0;
}

/* I/O objects below every ordinary one, in hwloc's order: the machine's first. */
static int tw_add_below(tw_node_t *node, hwloc_topology_t topology, hwloc_obj_t obj)
{
    const tw_where_t where  = tw_where_of(node, topology, obj->cpuset);
    int              parent = 0;

    if (where.package >= 0) {
        parent = tw_node_at(node, TW_PART_PACKAGE, where.package);
    }
    if (where.numa >= 0 && tw_node_where(node, TW_PART_NUMA, where.numa).package >= 0) {
        parent = tw_node_at(node, TW_PART_NUMA, where.numa);
    }
    for (hwloc_obj_t c = obj->io_first_child; c != NULL; c = c->next_sibling) {
        if (!tw_add_io(node, c, parent, where)) {
            return 0;
        }
    }
    for (hwloc_obj_t c = obj->first_child; c != NULL; c = c->next_sibling) {
        if (!tw_add_below(node, topology, c)) {
            return 0;
        }
    }
    return 1;
}

/* CUDA_DEVICE_ORDER=PCI_BUS_ID, whatever order hwloc met them in; what CUDA cannot use stands
 * last. */
static int tw_by_bus(const void *a, const void *b, void *parts)
{
    const tw_gpu_facts_t *x = a, *y = b;
    const tw_part_t      *p = parts;

    if (p[x->part].cuda != p[y->part].cuda) {
        return p[y->part].cuda - p[x->part].cuda;
    }
    return x->bus != y->bus ? (x->bus > y->bus) - (x->bus < y->bus)
                            : (x->part > y->part) - (x->part < y->part);
}

tw_status_t tw_pci_discover(tw_node_t *node, hwloc_topology_t topology)
{
    if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PCI_DEVICE) > TW_PCI_MOST ||
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_BRIDGE) > TW_PCI_MOST) {
        TW_ERROR(&node->log, "%s: more than %d PCI devices or bridges: no machine", node->source,
                 TW_PCI_MOST);
        return TW_ERR_FORMAT;
    }
    if (!tw_add_below(node, topology, hwloc_get_root_obj(topology))) {
        return TW_ERR_NO_MEMORY;
    }
    if (node->count[TW_PART_GPU] > 0) {
        qsort_r(node->gpus, (size_t)node->count[TW_PART_GPU], sizeof(*node->gpus), tw_by_bus,
                node->parts);
    }
    for (int i = 0; i < node->count[TW_PART_GPU]; i++) {
        tw_part_t *part = &node->parts[node->gpus[i].part];

        part->index                = i;
        node->kind[TW_PART_GPU][i] = node->gpus[i].part;
        snprintf(part->name, sizeof(part->name), "GPU %d", i);
    }
    return TW_OK;
}
