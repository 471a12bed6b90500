/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/declare.h - macros around the declarations of every public header: C linkage for C++,
 * and default visibility, so that the library exports only these names.
 */
#ifndef THINWIRE_DECLARE_H
#define THINWIRE_DECLARE_H

#ifdef __cplusplus
#define TW_BEGIN_DECLS                                                                             \
    extern "C" {                                                                                   \
    _Pragma("GCC visibility push(default)")
#define TW_END_DECLS                                                                               \
    _Pragma("GCC visibility pop")                                                                  \
    }
#else
#define TW_BEGIN_DECLS _Pragma("GCC visibility push(default)")
#define TW_END_DECLS   _Pragma("GCC visibility pop")
#endif

#endif /* THINWIRE_DECLARE_H */
