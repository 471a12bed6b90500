/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/rungs.c - see rungs.h. The specs are found once: from all that codecs offer, and
 * from their bare names, by what each says is the next finer one.
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/rungs.h"
#include "runtime/codec/offers.h"

typedef struct tw_rung {
    char   spec[TW_RULE_SPEC_MAX];
    double bytes; /* per value */
} tw_rung_t;

static struct {
    tw_rung_t *row;
    int        count;
} tw_rungs;

/* Options behind the first do not travel in a rung: all ranks take the defaults. */
static size_t tw_rung_length(const char *spec)
{
    return strcspn(spec, ",");
}

/* From 1; 0: it is in none. */
static int tw_rung_find(const char *spec)
{
    const size_t length = tw_rung_length(spec);
    int          rung   = tw_rungs.count;

    while (rung > 0 && (strncmp(tw_rungs.row[rung - 1].spec, spec, length) != 0 ||
                        tw_rungs.row[rung - 1].spec[length] != '\0')) {
        rung--;
    }
    return rung;
}

/* A spec that several types have counts by the most bytes. */
static void tw_rung_add(const char *spec, const tw_choice_t *choice)
{
    tw_codec_traits_t traits = {0};
    const int         found  = tw_rung_find(spec);
    tw_rung_t        *row    = tw_rungs.row;

    tw_codec_traits(choice->codec, &traits);
    if (found > 0) {
        row[found - 1].bytes = fmax(row[found - 1].bytes, traits.bytes);
        return;
    }
    row = realloc(row, ((size_t)tw_rungs.count + 1) * sizeof(*row));
    if (row == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for the finer codecs of an error contract");
    }
    tw_rungs.row        = row;
    row[tw_rungs.count] = (tw_rung_t){.bytes = traits.bytes};
    memcpy(row[tw_rungs.count++].spec, spec, strlen(spec) + 1);
}

/* All that follow a spec, for one kind of elements. */
static void tw_rung_follow(const char *spec, tw_kind_t kind)
{
    const tw_choice_t *choice = tw_choice_get(spec, kind);

    while (choice->codec != NULL && tw_choice_finer(choice)[0] != '\0') {
        char        next[TW_RULE_SPEC_MAX] = "";
        const char *finer                  = tw_choice_finer(choice);

        memcpy(next, finer, tw_rung_length(finer));
        choice = tw_choice_get(next, kind);
        if (choice->codec != NULL) {
            tw_rung_add(next, choice);
        }
    }
}

static int tw_rung_order(const void *a, const void *b)
{
    const tw_rung_t *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes)
                                : strcmp(x->spec, y->spec);
}

static void tw_rungs_make(void)
{
    const char *name;

    for (size_t t = 0; t < TW_DTYPE_ROWS; t++) {
        const tw_kind_t         kind = (tw_kind_t)(t + 1);
        const tw_codec_offer_t *offer;

        for (size_t i = 0; (offer = tw_codec_offer(~0U, tw_dtypes[t], i)) != NULL; i++) {
            tw_rung_follow(offer->spec, kind);
        }
        for (size_t i = 0; tw_codec_describe(i, &name, NULL, NULL) == TW_OK; i++) {
            tw_rung_follow(name, kind);
        }
    }
    if (tw_rungs.count > 0) {
        qsort(tw_rungs.row, (size_t)tw_rungs.count, sizeof(*tw_rungs.row), tw_rung_order);
    }
}

static void tw_rungs_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, tw_rungs_make);
}

int tw_rung_after(const tw_choice_t *choice)
{
    const char *next = tw_choice_finer(choice);
    int         rung;

    tw_rungs_ready();
    rung = next[0] != '\0' ? tw_rung_find(next) : 0;
    return rung > 0 ? rung : tw_rungs.count + 1;
}

const char *tw_rung_spec(int rung)
{
    tw_rungs_ready();
    return rung <= tw_rungs.count ? tw_rungs.row[rung - 1].spec : "";
}
