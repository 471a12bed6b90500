/* SPDX-License-Identifier: BSD-3-Clause
 * topology/settings.h - the settings of topology.
 */
#ifndef TW_TOPOLOGY_SETTINGS_H
#define TW_TOPOLOGY_SETTINGS_H

#include "runtime/base/settings.h"

typedef struct tw_topology_config {
    int bind;   /* bind ranks to their places when a communicator is created */
    int device; /* its number, TW_BIND_NONE or TW_BIND_AUTO; may differ       */
} tw_topology_config_t;

extern const tw_setting_table_t tw_topology_settings;

#endif /* TW_TOPOLOGY_SETTINGS_H */
