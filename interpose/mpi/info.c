/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/info.c - the codec that an MPI_Info gives a communicator: agreed on by its ranks.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "interpose/choice.h"
#include "interpose/mpi/comms.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/mpi/two_stage.h"

void tw_comms_set_info(MPI_Comm comm, MPI_Info info)
{
    char        text[MPI_MAX_INFO_VAL + 1] = "", spec[TW_RULE_SPEC_MAX], first[TW_RULE_SPEC_MAX];
    char        why[400]                   = "";
    int         found = 0, differs = 0, any = 0, inter = 0;
    tw_status_t status;
    tw_entry_t *entry;

    if (comm == MPI_COMM_NULL || !tw_active ||
        tw_next.Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) {
        return;
    }
    if (info != MPI_INFO_NULL) {
        tw_next.Info_get(info, "thinwire_codec", MPI_MAX_INFO_VAL, text, &found);
    }
    entry = tw_comms_get(comm);
    if (entry == NULL || !entry->usable) {
        return;
    }
    snprintf(spec, sizeof(spec), "%.*s", (int)sizeof(spec) - 1, found ? text : "");
    memset(first, 0, sizeof(first));
    memcpy(first, spec, strlen(spec));
    tw_next.Bcast(first, (int)sizeof(first), MPI_BYTE, 0, comm);
    differs = strcmp(first, spec) != 0;
    tw_next.Allreduce(&differs, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any) {
        if (entry->rank == 0) {
            tw_complain(
                "thinwire_codec differs between the ranks of a communicator; it is ignored");
        }
        return;
    }
    if (spec[0] == '\0') {
        return;
    }
    status = strcmp(spec, "off") != 0 ? tw_choice_check(spec, why, sizeof(why)) : TW_OK;
    if (status == TW_ERR_NO_MEMORY) { /* the other ranks have it, and go on */
        tw_give_up(comm, "no memory for a codec");
    }
    if (status != TW_OK) {
        if (entry->rank == 0) {
            tw_complain("thinwire_codec: %s; it is ignored", why);
        }
        return;
    }
    snprintf(entry->info, sizeof(entry->info), "%s", spec);
    tw_comms_keep_info(comm, spec);
    tw_comms_drop_levels(entry); /* the error contract begins anew from this codec */
    __atomic_store_n(&tw_state.info, true, __ATOMIC_RELAXED);
    tw_two_stage_start();
}

void tw_comms_set_info_of_copy(const MPI_Comm *comm, MPI_Info info)
{
    if (comm != NULL) {
        tw_comms_drop_info(*comm);
        tw_comms_set_info(*comm, info);
    }
}
