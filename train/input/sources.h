/* SPDX-License-Identifier: BSD-3-Clause
 * input/sources.h - the list of the kinds of sources, one line each, in the order of help.
 */
#ifndef TW_INPUT_SOURCES_H
#define TW_INPUT_SOURCES_H

#include "train/input/source.h"

#define TW_SOURCES(X)                                                                              \
    X(mnist)                                                                                       \
    X(cifar10)                                                                                     \
    X(folder)                                                                                      \
    X(list)                                                                                        \
    X(lmdb)                                                                                        \
    X(digits)                                                                                      \
    X(random)                                                                                      \
    X(root)

#define TW_SOURCE_DECLARE(name) extern const tw_source_ops_t tw_source_##name;
TW_SOURCES(TW_SOURCE_DECLARE)
#undef TW_SOURCE_DECLARE

#endif /* TW_INPUT_SOURCES_H */
