/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/select.h - slots of codec/device.h for CUDA: count, bus, start.
 */
#ifndef TW_CODEC_CUDA_SELECT_H
#define TW_CODEC_CUDA_SELECT_H

#include <stddef.h>

#include <thinwire/status.h>

tw_status_t tw_cuda_count(int *count_p, char *why, size_t size);
tw_status_t tw_cuda_bus(int device, char *text, size_t size);
tw_status_t tw_cuda_start_device(int device, char *why, size_t size);

#endif /* TW_CODEC_CUDA_SELECT_H */
