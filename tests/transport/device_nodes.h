/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/device_nodes.h - cases of device.c: algorithms in a node's memory, which for
 * device memory is that of the devices, if these share it (stub_shares), and else of the host.
 */
#ifndef TW_TESTS_TRANSPORT_DEVICE_NODES_H
#define TW_TESTS_TRANSPORT_DEVICE_NODES_H

void from_node_to_node_shared(void);
void from_node_to_node_apart(void);
void in_a_node(void);
void slow_readers(void);

#endif /* TW_TESTS_TRANSPORT_DEVICE_NODES_H */
