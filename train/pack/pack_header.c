/* SPDX-License-Identifier: BSD-3-Clause
 * train/pack/pack_header.c - the header of a database, with labels and names of classes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/pack/pack_inside.h"

/* The names of all classes, each with its NUL; NULL and 0 for none. */
static int join_names(const tw_source_t *source, char **names_p, size_t *n_p, tw_problem_t *problem)
{
    size_t n = 0;

    *names_p = NULL;
    *n_p     = 0;
    if (source->class_names == NULL) {
        return 0;
    }
    for (size_t k = 0; k < source->classes; k++) {
        n += strlen(source->class_names[k]) + 1;
    }
    if (n > TW_STORED_TEXT || (*names_p = malloc(n)) == NULL) {
        return tw_problem_set(problem, "no memory for %zu bytes of names of classes", n);
    }
    for (size_t k = 0; k < source->classes; k++) {
        const size_t length = strlen(source->class_names[k]) + 1;

        memcpy(*names_p + *n_p, source->class_names[k], length);
        *n_p += length;
    }
    return 0;
}

/* The labels of what is stored: those of the source but for what was left out. */
static uint8_t *put_labels(const tw_packer_t *p, uint8_t *at)
{
    uint64_t number = 0;
    size_t   k      = 0;

    for (tw_subset_t part = 0; part < TW_SUBSETS; part++) {
        for (size_t i = 0; i < p->source.part[part].n; i++, number++) {
            if (k < p->stamp.skipped_n && p->stamp.skipped[k] == number) {
                k++;
            } else {
                at = tw_stored_put_labels(&p->source.part[part].labels[i], 1, at);
            }
        }
    }
    return at;
}

/* @return a result of LMDB. */
static int put_header(tw_packer_t *p, const tw_stored_t *stored)
{
    uint8_t *bytes = NULL;
    int      error = tw_pack_store_begin(&p->store);

    if (error == 0) {
        error = tw_pack_store_header(&p->store, tw_stored_header_size(stored), &bytes);
    }
    if (error != 0) {
        return error;
    }
    put_labels(p, tw_stored_put_header(stored, bytes));
    return tw_pack_store_commit(&p->store, NULL);
}

static int write_header(tw_packer_t *p, const tw_stored_t *stored, tw_problem_t *problem)
{
    int error;

    while ((error = put_header(p, stored)) == MDB_MAP_FULL) {
        tw_pack_store_abort(&p->store);
        error = tw_pack_store_grow(&p->store);
        if (error != 0) {
            break;
        }
    }
    return error == 0 ? 0 : tw_pack_store_failed(&p->store, error, problem);
}

int tw_pack_complete(tw_packer_t *p, tw_problem_t *problem)
{
    const tw_pack_stamp_t *stamp  = &p->stamp;
    tw_stored_t            stored = {.classes  = p->source.classes,
                                     .n        = {stamp->n[0], stamp->n[1]},
                                     .shape    = stamp->shape,
                                     .manifest = p->source.manifest,
                                     .bytes    = stamp->bytes,
                                     .resize   = p->config->resize,
                                     .quality  = p->config->quality};
    char                  *names, note[TW_PACK_PATH];
    int                    status;

    if (stamp->n[0] == 0 || stamp->n[1] == 0) {
        return tw_problem_set(problem, "no image for %s is left: %zu were broken",
                              stamp->n[0] == 0 ? "training" : "tests", stamp->skipped_n);
    }
    snprintf(note, sizeof(note), "%s", p->config->source);
    stored.note   = note;
    stored.note_n = strlen(note);
    if (tw_stored_header_size(&stored) > UINT32_MAX - 1024 || /* a value of LMDB */
        join_names(&p->source, &names, &stored.names_n, problem) != 0) {
        return tw_problem_set(problem, "too many images for one database");
    }
    stored.names = names;
    status       = write_header(p, &stored, problem);
    free(names);
    return status;
}
