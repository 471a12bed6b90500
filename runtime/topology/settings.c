/* SPDX-License-Identifier: BSD-3-Clause
 * topology/settings.c - the table. The drop-in knows it too, and has no hwloc: nothing else is
 * here.
 */
#include "config.h"

#include "runtime/topology/settings.h"

static const char *const tw_devices[] = {"none", "auto", NULL}; /* TW_BIND_NONE, TW_BIND_AUTO */

static const tw_setting_field_t tw_topology_fields[] = {
    {"BIND", "no",
     "Bind each rank to its cores and its memory when a communicator is created; yes on one rank "
     "is "
     "yes on all.",
     offsetof(tw_topology_config_t, bind), TW_SETTING_BOOL, 0, 0, NULL, false},
    {"DEVICE", "none",
     "The CUDA device that becomes a rank's current one when a communicator is created: the one of "
     "its place, or one by its number, or none.",
     offsetof(tw_topology_config_t, device), TW_SETTING_INT, 0, 1023, tw_devices, false},
};

const tw_setting_table_t tw_topology_settings = {
    "topology", tw_topology_fields, sizeof(tw_topology_fields) / sizeof(tw_topology_fields[0])};
