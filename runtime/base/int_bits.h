/* SPDX-License-Identifier: BSD-3-Clause
 * base/int_bits.h - what the bits of a code of `int` may be, of float32 and of double: codes of
 * more would not survive a second encoding. OF(B) is what the including file makes of each.
 */
#ifndef TW_BASE_INT_BITS_H
#define TW_BASE_INT_BITS_H

#define TW_INT_EACH_F32(OF) OF(4) OF(6) OF(8) OF(10) OF(12) OF(16) OF(20)
#define TW_INT_EACH_F64(OF) TW_INT_EACH_F32(OF) OF(24) OF(28) OF(32) OF(40) OF(48)

#define TW_INT_BITS_F32 20 /* at most */
#define TW_INT_BITS_F64 48

#endif /* TW_BASE_INT_BITS_H */
