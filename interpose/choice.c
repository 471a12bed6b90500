/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/choice.c - see choice.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/choice.h"
#include "interpose/report/records.h"
#include "interpose/state.h"
#include "runtime/codec/abs.h"

static tw_choice_t *tw_choices;

static tw_choice_t *tw_choice_make(const char *spec, tw_kind_t kind)
{
    tw_choice_t      *made = calloc(1, sizeof(*made));
    tw_codec_traits_t traits;
    tw_status_t       status;

    if (made == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for a codec");
    }
    memcpy(made->spec, spec, strlen(spec));
    made->kind  = kind;
    made->dtype = tw_kind_dtype(kind);
    status      = tw_codec_create(&tw_state.context, spec, made->dtype, &made->codec, NULL, 0);
    if (status != TW_OK && status != TW_ERR_NO_MEMORY && tw_kind_is_asked(kind) &&
        tw_state.config.narrow) { /* no form for doubles */
        made->dtype  = TW_F32;
        made->narrow = true;
        status       = tw_codec_create(&tw_state.context, spec, made->dtype, &made->codec, NULL, 0);
    }
    if (status == TW_ERR_NO_MEMORY) { /* the other ranks have it, and go on */
        tw_give_up(MPI_COMM_WORLD, "no memory for a codec");
    }
    if (made->codec != NULL && tw_codec_traits(made->codec, &traits) == TW_OK) {
        made->exact     = traits.lossless && !made->narrow;
        made->automatic = traits.chooses != 0;
        tw_codec_abs(made->codec, &made->absolute);
    }
    return made;
}

static const tw_choice_t *tw_choice_find(const char *spec, tw_kind_t kind)
{
    const tw_choice_t *choice = __atomic_load_n(&tw_choices, __ATOMIC_ACQUIRE);

    while (choice != NULL && (choice->kind != kind || strcmp(choice->spec, spec) != 0)) {
        choice = choice->next;
    }
    return choice;
}

/* Choices are added at the head and stay: the list is read without the lock. */
const tw_choice_t *tw_choice_get(const char *spec, tw_kind_t kind)
{
    const tw_choice_t *found = tw_choice_find(spec, kind);
    tw_choice_t       *made;

    if (found != NULL) {
        return found;
    }
    made = tw_choice_make(spec, kind);
    pthread_mutex_lock(&tw_state.lock);
    found = tw_choice_find(spec, kind); /* another thread may have been quicker */
    if (found == NULL) {
        made->next = tw_choices;
        __atomic_store_n(&tw_choices, made, __ATOMIC_RELEASE);
        found = made;
        made  = NULL;
    }
    pthread_mutex_unlock(&tw_state.lock);
    if (made != NULL) {
        tw_codec_destroy(made->codec);
        free(made);
    }
    return found;
}

tw_status_t tw_choice_check(const char *spec, char *why, size_t size)
{
    tw_codec_t *codec  = NULL;
    tw_status_t status = tw_codec_create(&tw_state.context, spec, TW_F32, &codec, why, size);

    for (size_t t = 0; t < TW_DTYPE_ROWS && status != TW_OK && status != TW_ERR_NO_MEMORY; t++) {
        status = tw_codec_create(&tw_state.context, spec, tw_dtypes[t], &codec, NULL, 0);
    }
    tw_codec_destroy(codec);
    return status;
}

const char *tw_choice_finer(const tw_choice_t *choice)
{
    return choice->codec != NULL ? tw_codec_finer(choice->codec) : "";
}

static const tw_choice_t *tw_choice_candidate_make(int c, tw_kind_t kind)
{
    /* Not in the list: nothing is encoded with them. */
    static tw_choice_t narrow[TW_CANDIDATES_MAX];
    const char        *spec   = tw_candidates()->row[c].spec;
    const tw_choice_t *choice = tw_choice_get(spec, kind);

    if (choice->codec != NULL || !tw_kind_is_asked(kind)) {
        return choice;
    }
    choice = tw_choice_get(spec, TW_KIND_f32);
    pthread_mutex_lock(&tw_state.lock);
    if (narrow[c].codec == NULL) {
        narrow[c]        = *choice;
        narrow[c].kind   = kind;
        narrow[c].narrow = true;
    }
    pthread_mutex_unlock(&tw_state.lock);
    return &narrow[c];
}

const tw_choice_t *tw_choice_candidate(int c, tw_kind_t kind)
{
    static const tw_choice_t *made[TW_CANDIDATES_MAX][TW_KINDS];
    const tw_choice_t        *choice = __atomic_load_n(&made[c][kind], __ATOMIC_ACQUIRE);

    if (choice == NULL) {
        choice = tw_choice_candidate_make(c, kind);
        __atomic_store_n(&made[c][kind], choice, __ATOMIC_RELEASE);
    }
    return choice;
}

size_t tw_choice_bytes(const tw_choice_t *choice, size_t n)
{
    size_t bytes = n * tw_kind_size(choice->kind);

    tw_codec_size(choice->codec, n, &bytes); /* auto has none: as it is */
    return (bytes + TW_UNIT - 1) / TW_UNIT * TW_UNIT;
}

bool tw_choice_all_fit(const tw_choice_t *choice, size_t n, int ranks)
{
    return tw_choice_bytes(choice, n) * ((size_t)ranks + 1) <= 2 * n * tw_kind_size(choice->kind);
}
