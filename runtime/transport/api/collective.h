/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/collective.h - the common path of all calls, in all forms, from the public function
 * to an operation of the engine:
 *
 *     tw_allreduce() ...   fill a tw_collective_call_t
 *     tw_collective()      check -> decide (the call, the settings, `auto`) -> MPI's own, or the
 *                          quick form in a node's memory, or an algorithm -> create, fill, start
 */
#ifndef TW_TRANSPORT_API_COLLECTIVE_H
#define TW_TRANSPORT_API_COLLECTIVE_H

#include "runtime/transport/coll/collective.h"

/* Execute a call in any form. The call is consumed. */
tw_status_t tw_collective(tw_collective_call_t *call, tw_form_t form, tw_request_t **request_p);

/* Define tw_NAME(), tw_iNAME() and tw_NAME_init(), which call tw_NAME_form() with the same
 * arguments, the form and the request pointer. Both lists, in parentheses, are those between
 * communicator and `how`. */
#define TW_COLLECTIVE_FORMS(name, parameters, arguments)                                           \
    tw_status_t tw_##name(tw_comm_t *comm, TW_LIST parameters, const tw_how_t *how)                \
    {                                                                                              \
        return tw_##name##_form(comm, TW_LIST arguments, how, TW_BLOCKING, NULL);                  \
    }                                                                                              \
    tw_status_t tw_i##name(tw_comm_t *comm, TW_LIST parameters, const tw_how_t *how,               \
                           tw_request_t **request_p)                                               \
    {                                                                                              \
        return tw_##name##_form(comm, TW_LIST arguments, how, TW_NONBLOCKING, request_p);          \
    }                                                                                              \
    tw_status_t tw_##name##_init(tw_comm_t *comm, TW_LIST parameters, const tw_how_t *how,         \
                                 tw_request_t **plan_p)                                            \
    {                                                                                              \
        return tw_##name##_form(comm, TW_LIST arguments, how, TW_PLAN, plan_p);                    \
    }
#define TW_LIST(...) __VA_ARGS__

#endif /* TW_TRANSPORT_API_COLLECTIVE_H */
