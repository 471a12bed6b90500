/* SPDX-License-Identifier: BSD-3-Clause
 * tools/topology_json.c - a machine and its places as JSON.
 */
#include "config.h"

#include "tools/topology.h"

static const char *const kinds[TW_PART_KINDS] = {"machine", "package", "numa", "core",
                                                 "root",    "switch",  "gpu",  "nic"};

static json_t *part_json(const tw_part_t *part)
{
    json_t *entry = json_pack("{s:s, s:i, s:i, s:s}", "kind", kinds[part->kind], "index",
                              part->index, "parent", part->parent, "name", part->name);

    if (part->model[0] != '\0') {
        json_object_set_new(entry, "model", json_string(part->model));
    }
    if (part->bus[0] != '\0') {
        json_object_set_new(entry, "bus", json_string(part->bus));
    }
    switch (part->kind) {
    case TW_PART_NUMA:
        json_object_set_new(entry, "bytes", json_integer((json_int_t)part->bytes));
        break;
    case TW_PART_CORE:
        json_object_set_new(entry, "threads", json_string(part->pus));
        break;
    case TW_PART_GPU:
        json_object_set_new(entry, "vendor", json_string(part->cuda ? "NVIDIA" : "AMD"));
        json_object_set_new(entry, "device", json_integer(part->device));
        break;
    case TW_PART_NIC:
        json_object_set_new(entry, "fabric", json_boolean(part->fabric));
        json_object_set_new(entry, "active", json_boolean(part->active));
        json_object_set_new(entry, "subnet", json_string(part->subnet));
        break;
    default:
        break;
    }
    return entry;
}

static json_t *place_json(const drawing_t *d, int rank)
{
    const tw_place_t *place = &d->places[rank];
    const tw_part_t  *nic   = tw_node_find(d->node, TW_PART_NIC, place->nic);
    json_t           *cores = json_array();
    json_t           *entry;
    char              text[256];

    for (int i = 0; i < place->core_count; i++) {
        json_array_append_new(cores, json_integer(place->cores[i]));
    }
    entry =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:s, s:o, s:b, s:b}", "rank", rank, "gpu", place->gpu,
                  "device", place->device, "numa", place->numa, "nic", place->nic, "threads",
                  place->pus, "cores", cores, "shared_gpu", (place->shared & TW_SHARED_GPU) != 0,
                  "shared_cores", (place->shared & TW_SHARED_CORES) != 0);
    if (topology_warning(d, rank, text, sizeof(text))) {
        json_object_set_new(entry, "warning", json_string(text));
    }
    if (tw_place_network(d->node, place, text, sizeof(text)) == TW_OK && text[0] != '\0') {
        json_object_set_new(entry, "ucx_net_devices", json_string(text));
    }
    json_object_set_new(entry, "network", nic != NULL ? json_string(nic->name) : json_null());
    return entry;
}

/* A square matrix, or null if nothing of it is known. */
static json_t *matrix_json(const tw_node_t *node, tw_part_kind_t kind)
{
    const int n      = tw_node_count(node, kind);
    json_t   *rows   = json_array();
    int64_t   larger = 0;

    for (int i = 0; i < n && n <= 1024; i++) {
        json_t *row = json_array();

        for (int j = 0; j < n; j++) {
            const int64_t value =
                kind == TW_PART_GPU ? tw_node_nvlink(node, i, j) : tw_node_latency(node, i, j);

            larger = value > larger ? value : larger;
            json_array_append_new(row, json_integer((json_int_t)value));
        }
        json_array_append_new(rows, row);
    }
    if (larger == 0) {
        json_decref(rows);
        return json_null();
    }
    return rows;
}

static json_t *rounds_json(const drawing_t *d)
{
    json_t *list = json_array();

    for (int i = 0; i < d->round_count; i++) {
        json_t *pairs = json_array();

        for (int k = 0; k < d->rounds[i].count; k++) {
            json_array_append_new(
                pairs, json_pack("[i, i]", d->rounds[i].pairs[k].a, d->rounds[i].pairs[k].b));
        }
        json_array_append_new(list, pairs);
    }
    return list;
}

json_t *topology_json(const drawing_t *d)
{
    json_t *parts = json_array(), *places = json_array();

    for (int i = 0; i < tw_node_parts(d->node); i++) {
        json_array_append_new(parts, part_json(tw_node_part(d->node, i)));
    }
    for (int r = 0; r < d->ranks; r++) {
        json_array_append_new(places, place_json(d, r));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "source", d->source, "binding",
                     d->binding, "parts", parts, "latency", matrix_json(d->node, TW_PART_NUMA),
                     "nvlink", matrix_json(d->node, TW_PART_GPU), "places", places, "exchange",
                     rounds_json(d));
}
