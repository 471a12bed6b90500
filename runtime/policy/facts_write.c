/* SPDX-License-Identifier: BSD-3-Clause
 * policy/facts_write.c - facts as a text file; its lines are described in facts_text.c.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/bytes.h"
#include "runtime/policy/facts_inside.h"
#include "runtime/policy/model.h"

typedef struct tw_writer {
    char  *text;
    size_t size, used;
    bool   full;
} tw_writer_t;

static void tw_put(tw_writer_t *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tw_put(tw_writer_t *w, const char *format, ...)
{
    va_list args;
    int     n;

    va_start(args, format);
    n = vsnprintf(w->text + w->used, w->size - w->used, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= w->size - w->used) {
        w->full = true;
    } else {
        w->used += (size_t)n;
    }
}

/* A number with a point, whatever the locale of the program. */
static void tw_put_number(tw_writer_t *w, double value)
{
    char text[40];

    snprintf(text, sizeof(text), "%.17g", value);
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == ',' ? '.' : *c;
    }
    tw_put(w, " %s", text);
}

static void tw_put_link(tw_writer_t *w, const char *name, const tw_link_facts_t *link)
{
    tw_put(w, "%s", name);
    tw_put_number(w, link->latency);
    tw_put_number(w, link->bandwidth);
    tw_put_number(w, link->shared);
    tw_put_number(w, link->message);
    tw_put(w, "\n");
}

static void tw_put_codec(tw_writer_t *w, const tw_codec_facts_t *c)
{
    tw_put(w, "codec %s %d", c->spec, (int)c->dtype);
    tw_put_number(w, c->bytes);
    tw_put(w, " %zu", c->block);
    tw_put_number(w, c->max_error);
    tw_put(w, " %d", c->feedback);
    tw_put_number(w, c->encode);
    tw_put_number(w, c->decode);
    tw_put_number(w, c->decode_add);
    tw_put_number(w, c->call);
    tw_put(w, "\n");
}

static void tw_put_measured(tw_writer_t *w, const tw_facts_t *facts)
{
    for (int o = 0; o < TW_OPERATIONS; o++) {
        for (int i = 0; i < facts->native[o].steps; i++) {
            tw_put(w, "plain %s", tw_model_operations[o]);
            tw_put_number(w, facts->native[o].bytes[i]);
            tw_put_number(w, facts->native[o].seconds[i]);
            tw_put(w, "\n");
        }
    }
    for (int c = 0; c < facts->codecs; c++) {
        tw_put_codec(w, &facts->codec[c]);
    }
    for (int a = 0; tw_model_algorithm(a) != NULL; a++) {
        const tw_model_algorithm_t *row = tw_model_algorithm(a);

        tw_put(w, "factor %s %s", tw_model_operations[row->operation], row->name);
        for (int i = 0; i < 2; i++) {
            tw_put_number(w, facts->factor_bytes[a][i]);
            tw_put_number(w, facts->factor[a][i]);
        }
        tw_put(w, "\n");
    }
}

size_t tw_facts_write(const tw_facts_t *facts, const tw_facts_key_t *key, char *text, size_t size)
{
    tw_writer_t w = {.text = text, .size = size};

    if (size == 0) {
        return 0;
    }
    tw_put(&w, TW_FACTS_HEADER "\nversion %s\nhosts %s\nfabric %s\ncodecs %s\n", key->version,
           key->hosts, key->fabric, key->codecs);
    tw_put(&w, "ranks %d %d %d\nform %d\nengine", facts->ranks, facts->nodes, facts->local_ranks,
           facts->long_form);
    tw_put_number(&w, facts->engine);
    tw_put(&w, "\n");
    tw_put_link(&w, "inside", &facts->inside);
    tw_put_link(&w, "between", &facts->between);
    tw_put_measured(&w, facts);
    tw_put(&w, "processor");
    tw_put_number(&w, facts->processor);
    tw_put_number(&w, facts->moving);
    tw_put(&w, "\n");
    if (w.full) {
        return 0;
    }
    tw_put(&w, "checksum %016" PRIx64 "\n", tw_fnv1a(TW_FNV_START, text, w.used));
    return w.full ? 0 : w.used;
}
