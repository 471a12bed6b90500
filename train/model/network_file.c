/* SPDX-License-Identifier: BSD-3-Clause
 * model/network_file.c - conversion of the text of a model to a network. The keys are in
 * network_keys.c, those of layers in kinds.c.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/model/kinds.h"

enum { TW_KEYS_OF_ONE = 5 }; /* type, name, input, with twice: a layer's first keys, no defaults */

/* ---- layers -------------------------------------------------------------------------------- */

/* "a conv layer" */
static const char *who_is(char *text, size_t size, tw_layer_kind_t kind)
{
    snprintf(text, size, "%s %s layer", tw_kind_row(kind)->article, tw_kind_name(kind));
    return text;
}

/* Apply what the group "defaults" says of the layer's kind. */
static int read_defaults(const tw_reader_t *reader, const config_setting_t *defaults,
                         tw_network_layer_t *layer, uint64_t *seen)
{
    const tw_keys_t   keys = {"defaults", tw_keys_layer.key + TW_KEYS_OF_ONE,
                              tw_keys_layer.n - TW_KEYS_OF_ONE};
    config_setting_t *group;
    char              who[64];
    uint64_t          bits = 0;

    group =
        defaults == NULL ? NULL : config_setting_get_member(defaults, tw_kind_name(layer->kind));
    if (group == NULL) {
        return 0;
    }
    snprintf(who, sizeof(who), "defaults.%s", tw_kind_name(layer->kind));
    if (!config_setting_is_group(group)) {
        return tw_reader_wrong(reader, group, "%s: accepted is a group: { key = value; ... }", who);
    }
    if (tw_keys_read(reader, &keys, who, 1u << layer->kind, group, layer, &bits) != 0) {
        return -1;
    }
    *seen |= bits << TW_KEYS_OF_ONE;
    return 0;
}

/* A layer without a name is called by its kind and its number among these. */
static int name_layer(const tw_reader_t *reader, const config_setting_t *group,
                      tw_network_layer_t *layer)
{
    const tw_network_t *net    = reader->net;
    unsigned            number = 1;

    if (layer->name[0] == '\0') {
        for (size_t l = 0; l < net->layers; l++) {
            number += net->layer[l].kind == layer->kind;
        }
        snprintf(layer->name, sizeof(layer->name), "%s%u", tw_kind_name(layer->kind), number);
    }
    for (size_t l = 0; l < net->layers; l++) {
        if (strcmp(net->layer[l].name, layer->name) == 0) {
            return tw_reader_wrong(reader, group, "the name '%s' is taken by the layer of line %d",
                                   layer->name, net->layer[l].line);
        }
    }
    return strcmp(layer->name, "image") != 0
               ? 0
               : tw_reader_wrong(reader, group, "the name 'image' means the network's input");
}

static int read_layer(const tw_reader_t *reader, const config_setting_t *group,
                      const config_setting_t *defaults)
{
    const tw_key_t         *type  = &tw_keys_layer.key[0];
    tw_network_t           *net   = reader->net;
    tw_network_layer_t      layer = {0};
    const config_setting_t *kind;
    uint64_t                seen = 0;
    char                    who[64];

    if (!config_setting_is_group(group)) {
        return tw_reader_wrong(reader, group,
                               "layers: accepted are groups: { type = \"conv\"; ... }");
    }
    kind = config_setting_get_member(group, "type");
    if (kind == NULL) {
        return tw_reader_wrong(reader, group, "a layer needs 'type'");
    }
    if (tw_key_read(reader, type, kind, &layer) != 0) {
        return -1;
    }
    layer = tw_kind_layer(layer.kind, tw_reader_line(group), (int)net->layers - 1);
    who_is(who, sizeof(who), layer.kind);
    if (read_defaults(reader, defaults, &layer, &seen) != 0 ||
        tw_keys_read(reader, &tw_keys_layer, who, 1u << layer.kind, group, &layer, &seen) != 0 ||
        tw_keys_complete(reader, &tw_keys_layer, who, 1u << layer.kind, group, seen) != 0 ||
        tw_kind_row(layer.kind)->finish(reader, group, &layer) != 0 ||
        name_layer(reader, group, &layer) != 0) {
        return -1;
    }
    net->layer[net->layers++] = layer;
    return 0;
}

/* Defaults are checked even where no layer takes them. */
static int check_defaults(const tw_reader_t *reader, const config_setting_t *defaults)
{
    uint64_t seen = 0;

    if (defaults == NULL) {
        return 0;
    }
    if (!config_setting_is_group(defaults)) {
        return tw_reader_wrong(reader, defaults,
                               "defaults: accepted is a group: { conv = { ... }; ... }");
    }
    if (tw_keys_read(reader, &tw_keys_defaults, "defaults", 1, defaults, NULL, &seen) != 0) {
        return -1;
    }
    for (int kind = 0; kind < TW_LAYER_KINDS; kind++) {
        tw_network_layer_t layer = tw_kind_layer((tw_layer_kind_t)kind, 0, -1);

        if (read_defaults(reader, defaults, &layer, &seen) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_layers(const tw_reader_t *reader, const config_setting_t *root)
{
    const config_setting_t *list     = config_setting_get_member(root, "layers");
    const config_setting_t *defaults = config_setting_get_member(root, "defaults");
    tw_network_t           *net      = reader->net;
    const int               n = config_setting_is_list(list) ? config_setting_length(list) : 0;

    if (n < 1 || n > (int)TW_NETWORK_LAYERS_MAX) {
        return tw_reader_wrong(reader, list,
                               "layers: accepted is a list of 1 to %u groups: ( { type = ...; }, "
                               "... )",
                               TW_NETWORK_LAYERS_MAX);
    }
    if (check_defaults(reader, defaults) != 0) {
        return -1;
    }
    net->layer = calloc((size_t)n, sizeof(*net->layer));
    if (net->layer == NULL) {
        return tw_problem_set(reader->problem, "out of memory");
    }
    for (int l = 0; l < n; l++) {
        if (read_layer(reader, config_setting_get_elem(list, (unsigned)l), defaults) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

static int read_section(const tw_reader_t *reader, const tw_keys_t *keys,
                        const config_setting_t *root)
{
    const config_setting_t *group = config_setting_get_member(root, keys->section);
    uint64_t                seen  = 0;

    if (group == NULL) {
        return 0;
    }
    if (!config_setting_is_group(group)) {
        return tw_reader_wrong(reader, group, "%s: accepted is a group: { key = value; ... }",
                               keys->section);
    }
    return tw_keys_read(reader, keys, keys->section, 1, group, reader->net, &seen) != 0
               ? -1
               : tw_keys_complete(reader, keys, keys->section, 1, group, seen);
}

/* The last layer gives the classes unless it says how many units it has. */
static int finish_network(const tw_reader_t *reader)
{
    tw_network_t       *net  = reader->net;
    tw_network_layer_t *last = &net->layer[net->layers - 1];

    if (last->kind == TW_DENSE && last->out.c == 0) {
        last->out.c = net->classes;
    }
    for (size_t l = 0; l + 1 < net->layers; l++) {
        if (net->layer[l].kind == TW_DENSE && net->layer[l].out.c == 0) {
            return tw_problem_set(reader->problem,
                                  "%.100s:%d: a dense layer needs 'units'; only "
                                  "the last one takes the classes",
                                  reader->source, net->layer[l].line);
        }
    }
    return tw_network_check(net, reader->problem);
}

static int read_root(const tw_reader_t *reader, const config_setting_t *root)
{
    uint64_t seen = 0;

    return tw_keys_read(reader, &tw_keys_file, "the file", 1, root, reader->net, &seen) != 0 ||
                   tw_keys_complete(reader, &tw_keys_file, "the file", 1, root, seen) != 0 ||
                   read_section(reader, &tw_keys_input, root) != 0 ||
                   read_section(reader, &tw_keys_training, root) != 0 ||
                   read_layers(reader, root) != 0 || finish_network(reader) != 0
               ? -1
               : 0;
}

/* "dir/my-net.cfg" is called my-net unless it says another name. */
static void name_network(tw_network_t *net, const char *source)
{
    const char  *slash  = strrchr(source, '/');
    const char  *base   = slash == NULL ? source : slash + 1;
    const size_t length = strlen(base);

    snprintf(net->name, sizeof(net->name), "%s", base);
    if (length > 4 && length < sizeof(net->name) && strcmp(base + length - 4, ".cfg") == 0) {
        net->name[length - 4] = '\0';
    }
}

int tw_network_parse(tw_network_t *net, const char *text, const char *source, tw_problem_t *problem)
{
    const tw_reader_t reader = {net, source, problem};
    config_t          config;
    int               rc;

    *net = (tw_network_t){.optimizer = TW_SGD,
                          .rate      = 0.01,
                          .momentum  = 0.9,
                          .rms_decay = 0.9,
                          .batch     = 128,
                          .epochs    = 10,
                          .scale     = 1.0f / 255.0f};
    snprintf(net->source, sizeof(net->source), "%s", source);
    name_network(net, source);
    if (tw_network_check_text(text, source, problem) != 0) {
        return -1;
    }
    config_init(&config);
    if (config_read_string(&config, text) != CONFIG_TRUE) {
        rc = tw_problem_set(problem,
                            "%.100s:%d: %s; accepted is \"key = value;\", see thinwire-model(5)",
                            source, config_error_line(&config), config_error_text(&config));
    } else {
        rc = read_root(&reader, config_root_setting(&config));
    }
    config_destroy(&config);
    if (rc != 0) {
        tw_network_destroy(net);
    }
    return rc;
}

int tw_network_load(tw_network_t *net, const char *name_or_file, tw_problem_t *problem)
{
    char *text, source[256];
    int   rc;

    *net = (tw_network_t){0};
    if (tw_network_text(name_or_file, &text, source, problem) != 0) {
        return -1;
    }
    rc = tw_network_parse(net, text, source, problem);
    free(text);
    return rc;
}
