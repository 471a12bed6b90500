/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/wish.h - a rank that wants a CUDA device: asks what there is, starts one, makes it
 * the current one; or says why it has none. For bind.c.
 */
#ifndef TW_TRANSPORT_BIND_WISH_H
#define TW_TRANSPORT_BIND_WISH_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/bind/place.h"

typedef struct tw_wish {
    int  device;           /* a number, TW_BIND_NONE, TW_BIND_AUTO or TW_BIND_ALIKE         */
    int  fixed;            /* the only number that will do; negative: any                   */
    bool alike;            /* some rank wants TW_BIND_ALIKE; the same on all ranks          */
    char by[32];           /* how it was said                                               */
    bool setting;          /* by THINWIRE_DEVICE, whenever a communicator is created        */
    int  count;            /* devices that CUDA counts here; 0: none, or none is to be taken */
    char why[TW_BIND_WHY]; /* why there is none; ""                                         */
    char devices[TW_SEAT_DEVICES]; /* tw_rank_t.devices                                    */
} tw_wish_t;

/* What CUDA has for it: count, devices, why. Collective; the same status on all ranks: OK unless
 * one wants a number that it cannot have, which it logs. */
tw_status_t tw_wish_ask(tw_comm_t *comm, tw_wish_t *wish);

/* Start the device of the rank's place, or that of the number, and make it the current one,
 * *device_p; -1: none. Collective; the same status on all ranks. On failure the current device is
 * the one before. */
tw_status_t tw_wish_take(tw_comm_t *comm, tw_wish_t *wish, int *device_p);

#endif /* TW_TRANSPORT_BIND_WISH_H */
