/* SPDX-License-Identifier: BSD-3-Clause
 * input/transforms.h - the list of operations, one line each.
 */
#ifndef TW_INPUT_TRANSFORMS_H
#define TW_INPUT_TRANSFORMS_H

#include "train/input/transform.h"

#define TW_TRANSFORMS(X)                                                                           \
    X(decode)                                                                                      \
    X(resize)                                                                                      \
    X(crop)                                                                                        \
    X(mirror)                                                                                      \
    X(colour)                                                                                      \
    X(noise)                                                                                       \
    X(mean)                                                                                        \
    X(scale)                                                                                       \
    X(deviation)

#define TW_TRANSFORM_DECLARE(name) extern const tw_transform_ops_t tw_transform_##name;
TW_TRANSFORMS(TW_TRANSFORM_DECLARE)
#undef TW_TRANSFORM_DECLARE

#endif /* TW_INPUT_TRANSFORMS_H */
