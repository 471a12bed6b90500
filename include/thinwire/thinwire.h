/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/thinwire.h - all of thinwire's public headers.
 */
#ifndef THINWIRE_THINWIRE_H
#define THINWIRE_THINWIRE_H

#include <thinwire/buckets.h>
#include <thinwire/codec.h>
#include <thinwire/collective.h>
#include <thinwire/comm.h>
#include <thinwire/context.h>
#include <thinwire/facts.h>
#include <thinwire/feedback.h>
#include <thinwire/hybrid.h>
#include <thinwire/message.h>
#include <thinwire/model.h>
#include <thinwire/precision.h>
#include <thinwire/statistics.h>
#include <thinwire/status.h>
#include <thinwire/store.h>
#include <thinwire/topology.h>
#include <thinwire/trace.h>
#include <thinwire/version.h>
#include <thinwire/weights.h>

#endif /* THINWIRE_THINWIRE_H */
