/* SPDX-License-Identifier: BSD-3-Clause
 * transport/auto/calibrate_codecs.c - speed of the codecs that `auto` may choose, while all ranks
 * run them at once, so that the effect of shared cores is included.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/codec/offers.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/auto/calibrate.h"

#define TW_PIECE_VALUES ((size_t)16384)
#define TW_VERB_PARTS   3

typedef enum tw_calibrate_verb {
    TW_ENCODE,
    TW_DECODE,
    TW_DECODE_ADD,
    TW_VERBS
} tw_calibrate_verb_t;

static void tw_verb_run(const tw_gauge_t *g, const tw_codec_t *codec, tw_calibrate_verb_t verb,
                        size_t at, size_t n)
{
    uint8_t *values = g->send + at * (size_t)8,
            *codes  = g->recv + at * (size_t)8; /* room for doubles */

    switch (verb) {
    case TW_ENCODE:
        tw_codec_encode(codec, &g->comm->exec, values, n, codes);
        break;
    case TW_DECODE:
        tw_codec_decode(codec, &g->comm->exec, codes, n, values);
        break;
    default:
        tw_codec_decode_add(codec, &g->comm->exec, codes, n, values);
        break;
    }
}

/* Values that are worked on. */
static size_t tw_verb_room(const tw_gauge_t *g)
{
    const size_t usual = g->long_form ? (size_t)1 << 18 : (size_t)1 << 16;

    return g->room / 8 < usual ? g->room / 8 : usual;
}

/* Seconds per value, in pieces that walk through the buffers, for so long: the mean, as ranks that
 * share a core wait for each other; in a short measurement the median of a few, as anything may
 * come between. */
static double tw_verb_time(const tw_gauge_t *g, const tw_codec_t *codec, tw_calibrate_verb_t verb,
                           size_t piece, double seconds)
{
    const size_t   room  = tw_verb_room(g);
    const int      parts = g->long_form ? 1 : TW_VERB_PARTS;
    const uint64_t limit = (uint64_t)(seconds * 1e9 / parts);
    double         times[TW_VERB_PARTS];
    size_t         at = 0;

    for (int p = 0; p < parts; p++) {
        const uint64_t start  = tw_clock_ns();
        size_t         values = 0;
        uint64_t       spent;

        do {
            at = at + 2 * piece <= room ? at + piece : 0;
            tw_verb_run(g, codec, verb, at, piece);
            values += piece;
            spent = tw_clock_ns() - start;
        } while (spent < limit);
        times[p] = (double)spent * 1e-9 / (double)values;
    }
    tw_gauge_sort(times, parts);
    return times[parts / 2];
}

/* Even numbers from -1 to 1, where tw_verb_run() takes them from. */
static void tw_gauge_fill_even(const tw_gauge_t *g, const tw_dtype_row_t *type)
{
    uint32_t     state = 9;
    const size_t room  = tw_verb_room(g);

    for (size_t i = 0; i < room; i++) {
        double value;

        state = state * 1664525u + 1013904223u;
        value = (double)(int32_t)state * 0x1p-31;
        type->from_f64(&value, 1,
                       g->send + 8 * (i / TW_PIECE_VALUES * TW_PIECE_VALUES) +
                           type->bytes * (i % TW_PIECE_VALUES));
    }
}

static void tw_gauge_codec(const tw_gauge_t *g, const tw_codec_t *codec, double budget,
                           tw_codec_facts_t *facts)
{
    static const tw_calibrate_verb_t order[TW_VERBS] = {
        TW_ENCODE, TW_DECODE_ADD, TW_DECODE}; /* decoding brings the values back */
    const size_t room  = tw_verb_room(g);
    const size_t piece = room < TW_PIECE_VALUES ? room : TW_PIECE_VALUES;
    double       seconds[TW_VERBS];
    uint64_t     start;

    for (size_t at = 0; at + piece <= room; at += piece) { /* pages, and codes for all values */
        tw_verb_run(g, codec, TW_ENCODE, at, piece);
    }
    facts->call = 1.0;
    for (int i = 0; i < TW_VERB_PARTS; i++) { /* the shortest: it is about a microsecond at most */
        double call;

        start = tw_clock_ns();
        for (int k = 0; k < 4; k++) {
            tw_verb_run(g, codec, TW_ENCODE, 0, 1);
        }
        call        = (double)(tw_clock_ns() - start) * 1e-9 / 4.0;
        facts->call = call < facts->call ? call : facts->call;
    }
    for (int i = 0; i < TW_VERBS; i++) {
        seconds[order[i]] = tw_verb_time(g, codec, order[i], piece, 0.25 * budget);
    }
    facts->encode     = seconds[TW_ENCODE];
    facts->decode     = seconds[TW_DECODE];
    facts->decode_add = seconds[TW_DECODE_ADD];
}

/* What codecs offer to `auto`, floats first; how many. TW_ERR_NO_MEMORY: not all of them. */
static tw_status_t tw_gauge_offers(const tw_gauge_t *g, const tw_codec_t **codecs, int *count_p)
{
    const tw_codec_offer_t *offer;
    tw_status_t             status = TW_OK;
    int                     count  = 0;

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        for (size_t i = 0; (offer = tw_codec_offer(TW_OFFER_AUTO, tw_dtypes[t], i)) != NULL; i++) {
            if (count == TW_FACTS_CODECS) {
                break;
            }
            codecs[count] = tw_auto_codec(g->comm, offer->spec, tw_dtypes[t]);
            status        = codecs[count] != NULL ? status : TW_ERR_NO_MEMORY;
            count++;
        }
    }
    *count_p = count;
    return status;
}

tw_status_t tw_gauge_codecs(tw_gauge_t *g, tw_facts_t *facts)
{
    const tw_codec_t *codecs[TW_FACTS_CODECS];
    double            seconds[4 * TW_FACTS_CODECS];
    int               count;
    tw_status_t       status = tw_comm_agree(g->comm, tw_gauge_offers(g, codecs, &count));

    if (status != TW_OK) {
        return status;
    }
    facts->codecs = count;
    for (int c = 0; c < count; c++) {
        tw_codec_facts_t *mine  = &facts->codec[c];
        const tw_codec_t *codec = codecs[c];
        tw_codec_traits_t traits;

        tw_codec_traits(codec, &traits);
        *mine = (tw_codec_facts_t){.dtype     = traits.dtype,
                                   .bytes     = traits.bytes,
                                   .block     = traits.block,
                                   .max_error = traits.max_error,
                                   .feedback  = traits.feedback};
        snprintf(mine->spec, sizeof(mine->spec), "%s", tw_codec_spec(codec));
        if (c == 0 || mine->dtype != mine[-1].dtype) {
            tw_gauge_fill_even(g, tw_dtype_row(mine->dtype));
        }
        tw_gauge_codec(g, codec, g->budget / count, mine);
        if (traits.identity) { /* moves from buffer to buffer */
            mine->encode = mine->decode = 0.0;
        }
        seconds[4 * c]     = mine->encode;
        seconds[4 * c + 1] = mine->decode;
        seconds[4 * c + 2] = mine->decode_add;
        seconds[4 * c + 3] = mine->call;
    }
    status = tw_gauge_agree(g, seconds, 4 * count, true);
    for (int c = 0; c < count; c++) { /* the mean of the ranks */
        facts->codec[c].encode     = seconds[4 * c] / facts->ranks;
        facts->codec[c].decode     = seconds[4 * c + 1] / facts->ranks;
        facts->codec[c].decode_add = seconds[4 * c + 2] / facts->ranks;
        facts->codec[c].call       = seconds[4 * c + 3] / facts->ranks;
    }
    return status;
}
