/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/report/names.h - names of functions as people write them.
 */
#ifndef TW_INTERPOSE_NAMES_H
#define TW_INTERPOSE_NAMES_H

#include <stddef.h>

/* A symbol, or what addr2line has made of it, without arguments and the type of the result, and
 * without the arguments of templates where it is long: "solver::Grid<double>::smooth". Mangled
 * names of C++ are read by the C++ library of the process; without one they stay. Of what does not
 * fit the end stays. One thread at a time. */
void tw_function_name(const char *symbol, char *text, size_t size);

#endif /* TW_INTERPOSE_NAMES_H */
