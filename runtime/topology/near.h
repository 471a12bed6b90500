/* SPDX-License-Identifier: BSD-3-Clause
 * topology/near.h - for who places the ranks of several machines: which of them are near each
 * other, level by level; groups of them; and what a rank says of itself. No hwloc is needed to
 * include it.
 */
#ifndef TW_TOPOLOGY_NEAR_H
#define TW_TOPOLOGY_NEAR_H

#include <stdint.h>

#include <thinwire/topology.h>

#include "runtime/base/log.h"

/* Ranks are joined by: one GPU, or a link and one PCIe switch | a link (NVLink, XGMI) | a switch |
 * a root | a NUMA node | a package | the machine. What one level joins, all later ones do. */
#define TW_NEAR_LEVELS 7

/* levels[r * TW_NEAR_LEVELS + l]: the lowest rank of those that levels 0..l join with rank r. */
void tw_near_levels(const tw_node_t *node, const tw_place_t *places, int ranks, int *levels);

/* Groups of `group` ranks, the last one perhaps smaller, of ranks that the lowest levels join: of s
 * ranks that a level joins, s / group groups have no other members. order[0..group-1] is the first
 * group, and so on; groups stand by their lowest ranks, ranks in a group ascend. Where nothing is
 * to be gained that is the order of ranks. @return TW_OK, TW_ERR_NO_MEMORY. Pure; levels may be
 * those of several machines. */
tw_status_t tw_near_groups(const int *levels, int ranks, int group, int *order);

/* What CUDA_VISIBLE_DEVICES shows by the map, as tw_rank_t.devices. @return TW_OK,
 * TW_ERR_NO_MEMORY. */
tw_status_t tw_visible_devices(const tw_node_t *node, const char *visible, char *text, size_t size);

/* The name of the part of a GPU (MIG) in a text of CUDA_VISIBLE_DEVICES, NULL or not, that begins
 * with one: CUDA then counts that alone. *length_p: 0 where it does not. */
const char *tw_visible_part(const char *visible, int *length_p);

/* Of all parts, but for what depends on a rank's CUDA_VISIBLE_DEVICES. */
uint64_t tw_node_hash(const tw_node_t *node);

/* Where its lines go from now on. */
void tw_node_log(tw_node_t *node, const tw_log_t *log);

#endif /* TW_TOPOLOGY_NEAR_H */
