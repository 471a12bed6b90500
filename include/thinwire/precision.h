/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/precision.h - adaptive weight precision: the number of bits sent per weight.
 *
 * Training begins with few bits. After every batch the l2 norm of a group of weights is observed;
 * when it has hardly grown for many batches in a row, the group gets more bits (S0, section II,
 * Algorithm 1). One tw_precision_t is one group: a layer, or the layers of a block (section IV-B
 * has blocks for ResNet) with one norm over all their weights. The bits, rounded up to whole bytes
 * by tw_precision_bytes(), are the K of the codec bitpack:K.
 *
 * Where S0 is ambiguous, or its released code differs, this implementation uses:
 *
 * - Change rate (section II; the formula is missing in the text): (norm now - norm before) / norm
 *   before, signed, relative to the previous batch. The code divides by either norm, depending on
 *   the network, and in one network keeps the older norm while batches count; only this rate is a
 *   change relative to the previously processed batch. With the sign, a shrinking norm, as under
 *   weight decay, is below any T >= 0; `absolute` uses the magnitude instead. The rate from a norm
 *   of 0 is 0 if the norm stays 0, otherwise infinite.
 * - Counter (section II, "during a certain number of batches"): batches in a row. A batch that does
 *   not count resets it to 0, as in the code and unlike the letter of Algorithm 1: INTERVAL
 *   prevents "premature precision switching due to numerical fluctuations" (section V-A), and quiet
 *   batches scattered over an epoch are such fluctuations.
 * - The first norm has no rate and does not count; in the code it does. A raise discards the
 *   previous norm, as in the code, so the next norm is a first norm again.
 * - The caller chooses the norm; use that of the float32 master weights. The code uses that of the
 *   truncated weights, each of which, with 8 bits, changes by a factor of 4 or not at all.
 * - interval counts batches. The 4000 and 2000 of section V-A "correspond to a single batch", which
 *   must mean an epoch: 4005 and 2002 batches.
 *
 * Source: S0 ("Reducing Data Motion to Accelerate the Training of Deep Neural Networks"), AWP.
 */
#ifndef THINWIRE_PRECISION_H
#define THINWIRE_PRECISION_H

#include <stdint.h>

#include <thinwire/declare.h>
#include <thinwire/status.h>

TW_BEGIN_DECLS

typedef struct tw_precision {
    double   threshold; /* T: a batch counts if its rate is below; finite, may be negative */
    uint64_t interval;  /* INTERVAL: counting batches in a row before a raise, 1 or more */
    int      step;      /* N: bits added by a raise, 1 .. 32; S0: 8 */
    int      first;     /* initial bits, 1 .. last; S0: 8 */
    int      last;      /* most bits, 1 .. 32; S0: 32 */
    int      absolute;  /* 0: signed rate; 1: its magnitude */
    /* State. */
    double   norm;    /* of the previous batch; 0 if unknown */
    int      known;   /* 1: norm is known */
    uint64_t counted; /* counting batches in a row, 0 .. interval - 1 */
    int      bits;    /* current bits */
} tw_precision_t;

/** Check the fields that the caller has set (threshold to absolute), and reset the state: bits
 * becomes first. Pure, as are all functions of this header.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL, or a number out of range; nothing is changed). */
tw_status_t tw_precision_init(tw_precision_t *precision);

/** Observe the norm after one more batch. It must be equal on all ranks, bit for bit, so that all
 * raise at the same batch. bits never falls and never exceeds last; once it is last, norms change
 * nothing, and the caller may stop computing them.
 * @param [in]  norm      0 or more, finite.
 * @param [out] raised_p  1 if this batch raised bits, otherwise 0; may be NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG (nothing is changed). */
tw_status_t tw_precision_observe(tw_precision_t *precision, double norm, int *raised_p);

/** Bytes for `bits` bits of a float32: 1 for 1 to 8, ... 4 for 25 to 32; 0 for any other number. */
int tw_precision_bytes(int bits);

#define TW_PRECISION_NUMBERS 4

/** Save the state as numbers, for a checkpoint. */
void tw_precision_save(const tw_precision_t *precision, double numbers[TW_PRECISION_NUMBERS]);

/** Restore the state, after tw_precision_init() with the same settings.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL), TW_ERR_FORMAT (not a state that these settings can
 *         reach; nothing is changed). */
tw_status_t tw_precision_restore(tw_precision_t *precision,
                                 const double    numbers[TW_PRECISION_NUMBERS]);

TW_END_DECLS

#endif /* THINWIRE_PRECISION_H */
