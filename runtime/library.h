/* SPDX-License-Identifier: BSD-3-Clause
 * library.h - what only the roof knows: all modules' settings.
 */
#ifndef TW_LIBRARY_H
#define TW_LIBRARY_H

#include <thinwire/status.h>

#include "runtime/base/log.h"

/* Look at the whole THINWIRE_ environment: unknown names are warned about, malformed values are
 * TW_ERR_SETTING (logged). */
tw_status_t tw_library_check_environment(const tw_log_t *log);

#endif /* TW_LIBRARY_H */
