/* SPDX-License-Identifier: BSD-3-Clause
 * tools/info_codecs.c - see info_codecs.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/traits.h"
#include "tools/info_codecs.h"
#include "tools/table.h"

/* Place of a codec in the list of a type, by what users write; -1: there is none. */
static int place_of(const info_codecs_t *lists, size_t type, const char *text)
{
    for (size_t i = 0; i < lists->of[type].count; i++) {
        if (strcmp(lists->of[type].text[i], text) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static const tw_codec_traits_t *traits_of(const info_codecs_t *lists, info_codec_t codec)
{
    return &lists->of[codec.type].traits[codec.i];
}

/* Into its place among all, unless an earlier type has it. */
static void add_codec(info_codecs_t *lists, info_codec_t codec)
{
    size_t at = lists->count;

    for (size_t before = 0; before < codec.type; before++) {
        if (place_of(lists, before, lists->of[codec.type].text[codec.i]) >= 0) {
            return;
        }
    }
    for (;
         at > 0 && tw_traits_before(traits_of(lists, codec), traits_of(lists, lists->all[at - 1]));
         at--) {
        lists->all[at] = lists->all[at - 1];
    }
    lists->all[at] = codec;
    lists->count++;
}

/* "1.0010", or "2.0000 =" of one that loses nothing; "-": not of such elements. */
static void bytes_cell(char *cell, const info_codecs_t *lists, size_t type, const char *text)
{
    const int at = place_of(lists, type, text);

    if (at < 0) {
        table_text(cell, "-");
    } else {
        snprintf(cell, TABLE_CELL, "%.4f%s", lists->of[type].traits[at].bytes,
                 lists->of[type].traits[at].lossless ? " =" : "  ");
    }
}

static void print_codecs(const info_codecs_t *lists)
{
    enum { COLUMNS = TW_DTYPE_ROWS + 4 };
    table_column_t columns[COLUMNS] = {{"codec", -12}};
    char           cells[COLUMNS][TABLE_CELL];
    const size_t   last = 1 + TW_DTYPE_ROWS;

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        columns[1 + t] = (table_column_t){tw_dtype_name(tw_dtypes[t]), 8};
    }
    columns[last]     = (table_column_t){"block", 0};
    columns[last + 1] = (table_column_t){"kernels", -7};
    columns[last + 2] = (table_column_t){"wants error feedback", -5};
    printf(
        "\nCodecs, with their bytes for an element of each type (=: nothing is lost), from fewest "
        "to most:\n\n");
    table_header(columns, COLUMNS);
    for (size_t c = 0; c < lists->count; c++) {
        const tw_codec_traits_t *traits = traits_of(lists, lists->all[c]);
        const char              *text   = lists->of[lists->all[c].type].text[lists->all[c].i];

        table_text(cells[0], text);
        for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
            bytes_cell(cells[1 + t], lists, t, text);
        }
        snprintf(cells[last], TABLE_CELL, "%zu", traits->block);
        table_text(cells[last + 1], traits->isa);
        table_text(cells[last + 2], traits->feedback ? "yes" : "no");
        table_row(columns, COLUMNS, cells);
    }
}

/* What --max-error goes through, of a type: from the codec with the fewest bytes that has a finer
 * one. each(spec, bytes) for all of them. */
static void each_finer(tw_context_t *ctx, const specs_t *specs, tw_dtype_t dtype,
                       void (*each)(void *to, const char *spec, double bytes), void *to)
{
    const tw_codec_traits_t *least = NULL;
    char                     spec[SPECS_LENGTH];

    for (size_t i = 0; i < specs->count; i++) {
        const tw_codec_traits_t *traits = &specs->traits[i];

        if (traits->finer[0] != '\0' && (least == NULL || traits->bytes < least->bytes)) {
            least = traits;
            snprintf(spec, sizeof(spec), "%s", specs->text[i]);
        }
    }
    while (least != NULL && spec[0] != '\0') {
        tw_codec_t       *codec = NULL;
        tw_codec_traits_t traits;

        if (tw_codec_create(ctx, spec, dtype, &codec, NULL, 0) != TW_OK) {
            return;
        }
        tw_codec_traits(codec, &traits);
        each(to, spec, traits.bytes);
        snprintf(spec, sizeof(spec), "%s", traits.finer);
        tw_codec_destroy(codec);
    }
}

static void print_finer(void *to, const char *spec, double bytes)
{
    (void)to;
    printf("%s (%.4g), ", spec, bytes);
}

static void print_order(tw_context_t *ctx, const info_codecs_t *lists)
{
    printf("\nWhat --max-error goes through, each with more bytes than the one before:\n");
    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        printf("  %-8s  ", tw_dtype_name(tw_dtypes[t]));
        each_finer(ctx, &lists->of[t], tw_dtypes[t], print_finer, NULL);
        printf("off\n");
    }
}

/* By the names of the types: what each has of a codec, or null. */
static json_t *by_type(const info_codecs_t *lists, const char *text, int bytes)
{
    json_t *object = json_object();

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        const int      at    = place_of(lists, t, text);
        const specs_t *specs = &lists->of[t];
        json_t        *value = at < 0  ? json_null()
                               : bytes ? json_real(specs->traits[at].bytes)
                                       : json_boolean(specs->traits[at].lossless);

        json_object_set_new(object, tw_dtype_name(tw_dtypes[t]), value);
    }
    return object;
}

static json_t *codecs_json(const info_codecs_t *lists)
{
    json_t *list = json_array();

    for (size_t c = 0; c < lists->count; c++) {
        const size_t             i        = lists->all[c].i;
        const specs_t           *specs    = &lists->of[lists->all[c].type];
        const tw_codec_traits_t *traits   = &specs->traits[i];
        json_t                  *lossless = by_type(lists, specs->text[i], 0);

        json_object_set(lossless, "float32", json_object_get(lossless, "float"));
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i, s:f, s:o, s:I, s:s, s:o, s:b}",
                                              "codec", specs->text[i], "spec",
                                              tw_codec_spec(specs->codec[i]), "name", traits->name,
                                              "id", traits->id, "bytes_per_value", traits->bytes,
                                              "bytes", by_type(lists, specs->text[i], 1), "block",
                                              (json_int_t)traits->block, "isa", traits->isa,
                                              "lossless", lossless, "feedback", traits->feedback));
    }
    return list;
}

static void append_finer(void *to, const char *spec, double bytes)
{
    (void)bytes;
    json_array_append_new(to, json_string(spec));
}

static json_t *order_json(tw_context_t *ctx, const info_codecs_t *lists)
{
    json_t *object = json_object();

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        json_t *list = json_array();

        each_finer(ctx, &lists->of[t], tw_dtypes[t], append_finer, list);
        json_object_set_new(object, tw_dtype_name(tw_dtypes[t]), list);
    }
    return object;
}

int info_codecs_create(info_codecs_t *lists, const job_t *job, tw_context_t *ctx)
{
    lists->count = 0;
    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        if (specs_create_all(&lists->of[t], job, ctx, tw_dtypes[t]) != 0) {
            while (t > 0) {
                specs_destroy(&lists->of[--t]);
            }
            return -1;
        }
        for (size_t i = 0; i < lists->of[t].count; i++) {
            add_codec(lists, (info_codec_t){t, i});
        }
    }
    return 0;
}

void info_codecs_destroy(info_codecs_t *lists)
{
    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        specs_destroy(&lists->of[t]);
    }
}

void info_codecs_print(const info_codecs_t *lists, tw_context_t *ctx)
{
    print_codecs(lists);
    print_order(ctx, lists);
}

void info_codecs_json(const info_codecs_t *lists, tw_context_t *ctx, json_t *root)
{
    json_object_set_new(root, "codecs", codecs_json(lists));
    json_object_set_new(root, "finer", order_json(ctx, lists));
}
