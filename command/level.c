/* SPDX-License-Identifier: BSD-3-Clause
 * command/level.c - see level.h.
 */
#include "config.h"

#include <string.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "command/level.h"

int level_wanted(int least)
{
    tw_setting_t setting;

    for (size_t i = 0; i < tw_settings_count(); i++) {
        tw_settings_get(i, &setting);
        if (strcmp(setting.name, "THINWIRE_PROGRESS") == 0 &&
            strcmp(setting.value_text, "thread") == 0) {
            return MPI_THREAD_MULTIPLE;
        }
    }
    return least;
}
