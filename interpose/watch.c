/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/watch.c - see watch.h.
 */
#include "config.h"

#include "interpose/call.h"
#include "interpose/watch.h"

void tw_watch_form(const void *site, tw_rule_op_t op, int nonblocking, int form, MPI_Comm comm,
                   MPI_Count count, const int *ints, const MPI_Count *larges, MPI_Datatype datatype)
{
    tw_call_t call;

    tw_call_begin(&call, site, op, nonblocking, comm);
    call.form = form;
    for (int r = 0; call.comm != NULL && call.comm->usable && (ints != NULL || larges != NULL) &&
                    r < call.comm->size;
         r++) {
        count += ints != NULL ? ints[r] : larges[r];
    }
    tw_call_vector(&call, (MPI_Aint)count, datatype);
    call.why = TW_WHY_FORM;
    tw_call_end(&call);
}
