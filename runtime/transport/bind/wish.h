/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/wish.h - a rank's request for a CUDA device: list the devices, start one and make
 * it current, or log why there is none. For bind.c.
 */
#ifndef TW_TRANSPORT_BIND_WISH_H
#define TW_TRANSPORT_BIND_WISH_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/bind/place.h"

typedef struct tw_wish {
    int  device;           /* a number, TW_BIND_NONE, TW_BIND_AUTO or TW_BIND_ALIKE         */
    int  fixed;            /* the only accepted number; negative: any                       */
    bool alike;            /* some rank requests TW_BIND_ALIKE; equal on all ranks          */
    char by[32];           /* source of the request, for the log                            */
    bool setting;          /* by THINWIRE_DEVICE, for every communicator                    */
    int  count;            /* devices that CUDA lists; 0: none, or none is to be used       */
    char why[TW_BIND_WHY]; /* why there is none; ""                                         */
    char devices[TW_SEAT_DEVICES]; /* tw_rank_t.devices                                    */
} tw_wish_t;

/* Set count, devices and why by CUDA. Collective; the same status on all ranks: TW_OK unless a rank
 * requests a number that it cannot have (logged). */
tw_status_t tw_wish_ask(tw_comm_t *comm, tw_wish_t *wish);

/* Start the device of the rank's place or of the requested number and make it current; *device_p is
 * its number, or -1. Collective; the same status on all ranks. A failure leaves the current device
 * unchanged. */
tw_status_t tw_wish_take(tw_comm_t *comm, tw_wish_t *wish, int *device_p);

#endif /* TW_TRANSPORT_BIND_WISH_H */
