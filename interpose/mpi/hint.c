/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/hint.c - thinwire_codec of a communicator's MPI_Info, which all its ranks must say
 * alike.
 *
 * It is kept as an attribute of ours beside the entry (comms.h), so that MPI_Comm_dup() and
 * MPI_Comm_idup() hand it on, as they do with what a library hangs on a communicator.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/comms.h"
#include "interpose/next.h"
#include "interpose/state.h"

static int  tw_hint_key;
static bool tw_hint_keyed;

static char *tw_hint_text(const char *spec)
{
    char *text = strdup(spec);

    if (text == NULL) { /* alone, this rank may not forget it */
        tw_give_up(MPI_COMM_WORLD, "no memory for thinwire_codec of a communicator");
    }
    return text;
}

static int tw_hint_copy(MPI_Comm comm, int key, void *extra, void *value, void *new_value,
                        int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)new_value = tw_hint_text(value);
    *flag               = 1;
    return MPI_SUCCESS;
}

static int tw_hint_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    free(value);
    return MPI_SUCCESS;
}

void tw_comms_info_start(void)
{
    tw_hint_keyed =
        tw_next.Comm_create_keyval(tw_hint_copy, tw_hint_delete, &tw_hint_key, NULL) == MPI_SUCCESS;
}

void tw_comms_info_stop(void)
{
    if (tw_hint_keyed) {
        tw_hint_keyed = false;
        tw_next.Comm_free_keyval(&tw_hint_key);
    }
}

void tw_comms_get_info(MPI_Comm comm, char *spec, size_t size)
{
    char *text  = NULL;
    int   found = 0;

    if (tw_hint_keyed &&
        tw_next.Comm_get_attr(comm, tw_hint_key, (void *)&text, &found) == MPI_SUCCESS && found) {
        snprintf(spec, size, "%s", text);
    }
}

void tw_comms_keep_info(MPI_Comm comm, const char *spec)
{
    if (tw_hint_keyed) {
        tw_next.Comm_set_attr(comm, tw_hint_key, tw_hint_text(spec));
    }
}

void tw_comms_drop_info(MPI_Comm comm)
{
    char spec[TW_RULE_SPEC_MAX] = "";

    if (tw_active && comm != MPI_COMM_NULL) {
        tw_comms_get_info(comm, spec, sizeof(spec));
        if (spec[0] != '\0') {
            tw_next.Comm_delete_attr(comm, tw_hint_key);
        }
    }
}
