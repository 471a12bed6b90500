/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/address.h - the address at which other machines reach this process.
 */
#ifndef TW_SOCKETS_ADDRESS_H
#define TW_SOCKETS_ADDRESS_H

#include <stddef.h>

#include "runtime/base/log.h"

#define TW_ADDRESS_TEXT 64

/* Numbers of an address, without a port: that of the interface or address `wanted`, unless it is
 * ""; else the one from which this machine sends to the host `towards`, if that is not NULL; else
 * the one of its default route, or of its first interface.
 * @return TW_OK, TW_ERR_SETTING (logged). */
tw_status_t tw_address_choose(const tw_log_t *log, const char *wanted, const char *towards,
                              char *text, size_t size);

#endif /* TW_SOCKETS_ADDRESS_H */
