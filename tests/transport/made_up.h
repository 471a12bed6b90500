/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/made_up.h - a made-up machine (hwloc reads a file of tests/topology), and a table
 * of devices in the place of CUDA's.
 */
#ifndef TW_TESTS_TRANSPORT_MADE_UP_H
#define TW_TESTS_TRANSPORT_MADE_UP_H

#include "runtime/codec/device.h"
#include "tests/mpi/harness.h"

extern int         made_count;   /* devices of this rank                             */
extern const char *made_bus[16]; /* theirs; NULL: it cannot be told                  */
extern const char *made_problem; /* there is no device, because of this              */
extern int         made_busy;    /* another process has it; -1: none                 */
extern int         made_current; /* -1: none was ever                                */
extern int         made_started; /* a bit for each                                   */
extern int         made_stuck;   /* cannot be made the current one; -1: none         */

extern const char *const s4_bus[8];

/* The table: the made-up one. */
extern const tw_device_ops_t *made_table;

/* The file of the machine: "s4.xml", or a path. */
extern const char *made_machine;

extern int  lines; /* warnings and errors since the communicator was made */
extern char last[512];

/* A communicator on this machine, with S4's devices as what CUDA counts. */
tw_comm_t *open_over(tw_context_t **ctx_p, MPI_Comm parent);
tw_comm_t *open_comm(tw_context_t **ctx_p); /* over all ranks */
void       close_comm(tw_comm_t *comm, tw_context_t *ctx);

/* The device and the place say the same GPU. */
void expect_place(tw_comm_t *comm, int device, int gpu);

/* In bind_order.c: what follows from places. */
void order_of_messages(void);
void near_networks(void);

#endif /* TW_TESTS_TRANSPORT_MADE_UP_H */
