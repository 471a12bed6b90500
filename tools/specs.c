/* SPDX-License-Identifier: BSD-3-Clause
 * tools/specs.c - creating the codecs of a list.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/specs.h"

static tw_status_t add_spec(specs_t *specs, tw_context_t *ctx, const char *spec, tw_dtype_t dtype,
                            char *why, size_t size)
{
    const size_t i      = specs->count;
    tw_status_t  status = TW_OK;

    if (specs->moves && strcmp(spec, "bytes") == 0) {
        specs->codec[i] = (tw_codec_t *)(uintptr_t)tw_codec_bytes();
    } else {
        status = tw_codec_create(ctx, spec, dtype, &specs->codec[i], why, size);
    }
    if (status == TW_OK) {
        snprintf(specs->text[i], SPECS_LENGTH, "%s", spec);
        tw_codec_traits(specs->codec[i], &specs->traits[i]);
        specs->count++;
    }
    return status;
}

int specs_create(specs_t *specs, const job_t *job, tw_context_t *ctx, const char *list,
                 tw_dtype_t dtype)
{
    size_t      cursor = 0;
    char        spec[SPECS_LENGTH], why[640] = "";
    tw_status_t status;

    specs->count = 0;
    while ((status = tw_codec_list_next(list, &cursor, spec, sizeof(spec))) == TW_OK) {
        if (specs->count == SPECS_MAX) {
            job_complain(job, "--codec: more than %d codecs", SPECS_MAX);
            break;
        }
        status = add_spec(specs, ctx, spec, dtype, why, sizeof(why));
        if (status != TW_OK) {
            job_complain(job, "--codec: %s", why[0] != '\0' ? why : tw_status_text(status));
            break;
        }
    }
    if (status == TW_ERR_RANGE && specs->count > 0) {
        return 0;
    }
    if (status == TW_ERR_SPEC && why[0] == '\0') {
        job_complain(
            job,
            "--codec '%.80s': an empty codec name, or too long a one; accepted: a list such as "
            "tree8,onebit",
            list);
    }
    specs_destroy(specs);
    return -1;
}

int specs_create_all(specs_t *specs, const job_t *job, tw_context_t *ctx, tw_dtype_t dtype)
{
    specs->count = 0;
    for (size_t i = 0; i < tw_codec_count() && specs->count < SPECS_MAX; i++) {
        const char *name;
        char        spec[SPECS_LENGTH], why[640];
        size_t      before = specs->count;
        tw_status_t status;

        tw_codec_describe(i, &name, NULL, NULL);
        status = add_spec(specs, ctx, name, dtype, why, sizeof(why));
        if (status == TW_OK || status == TW_ERR_UNSUPPORTED) { /* or not of such elements */
            continue;
        }
        for (int k = 1; k <= 64 && specs->count < SPECS_MAX; k++) { /* those it accepts */
            snprintf(spec, sizeof(spec), "%s:%d", name, k);
            add_spec(specs, ctx, spec, dtype, why, sizeof(why));
        }
        if (specs->count == before) {
            job_complain(job, "%s: %s", name, why);
            specs_destroy(specs);
            return -1;
        }
    }
    return 0;
}

void specs_destroy(specs_t *specs)
{
    for (size_t i = 0; i < specs->count; i++) {
        tw_codec_destroy(specs->codec[i]);
    }
    specs->count = 0;
}
