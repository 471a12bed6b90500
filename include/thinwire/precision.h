/* SPDX-License-Identifier: BSD-3-Clause
 * thinwire/precision.h - how many bits of each weight are worth sending: adaptive weight precision.
 *
 * Training begins with few bits. The l2 norm of a group of weights is looked at after every batch,
 * and when it has hardly grown for many batches in a row, the group gets more bits (S0, section II,
 * Algorithm 1). One tw_precision_t is one group: a layer, or the layers of a block (section IV-B
 * has blocks for ResNet) with one norm over all their weights. The bits, rounded up to whole bytes
 * by tw_precision_bytes(), are the K of the codec bitpack:K.
 *
 * Where S0 leaves several readings, or its released code has another one, here is meant:
 *
 * - Change rate (section II; the formula is lost in the text): (norm now - norm before) / norm
 *   before, with its sign, against the batch just before. The code divides by either norm,
 *   depending on the network, and in one network keeps the older norm while batches count; only
 *   this one is a change relative to the previously processed batch. With the sign, a norm that
 *   shrinks, as it does under weight decay, is below any T >= 0; `absolute` takes the magnitude,
 *   for which that is a change like any other. The rate from a norm of 0 is 0 where the norm stays
 *   0, else infinite.
 * - The counter (section II, "during a certain number of batches"): batches in a row. Another batch
 *   sets it to 0, as in the code and unlike the letter of Algorithm 1: INTERVAL is there against
 *   "premature precision switching due to numerical fluctuations" (section V-A), and batches that
 *   happen to be quiet, collected over an epoch, are such fluctuations.
 * - The first norm has no rate and does not count; in the code it does. After a raise the norm
 *   before is forgotten, as in the code, so the next one is a first norm again.
 * - Whose norm: the caller's choice. That of the float32 master weights is the one to take. The
 *   code takes that of the truncated weights, each of which, with 8 bits, moves by a factor of 4 or
 *   not at all.
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
    double   threshold; /* T: a batch counts if its rate is below; finite, may be negative   */
    uint64_t interval;  /* INTERVAL: batches in a row that raise the bits, 1 or more         */
    int      step;      /* N: bits of a raise, 1 .. 32; S0: 8                                */
    int      first;     /* bits at first, 1 .. last; S0: 8                                   */
    int      last;      /* bits at most, 1 .. 32; S0: 32                                     */
    int      absolute;  /* 0: the rate with its sign; 1: its magnitude                       */
    /* What has been observed. */
    double   norm;    /* of the batch before; 0 if not known                               */
    int      known;   /* is there one?                                                     */
    uint64_t counted; /* batches in a row that count, 0 .. interval - 1                    */
    int      bits;    /* now                                                               */
} tw_precision_t;

/** Check what the caller has filled in (threshold to absolute), and forget what was observed: bits
 * becomes first. Pure, as are all functions of this header.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL, or a number out of range; nothing is changed). */
tw_status_t tw_precision_init(tw_precision_t *precision);

/** The norm after one more batch. It must be equal on all ranks, to the bit; then all raise at the
 * same batch. bits never falls and never exceeds last; once it is last, norms change nothing any
 * more, so the caller may stop computing them.
 * @param [in]  norm      0 or more, finite.
 * @param [out] raised_p  1 where bits has grown by this batch, else 0; may be NULL.
 * @return TW_OK, TW_ERR_INVALID_ARG (nothing is changed). */
tw_status_t tw_precision_observe(tw_precision_t *precision, double norm, int *raised_p);

/** Bytes that hold so many bits of a float32: 1 for 1 to 8, ... 4 for 25 to 32; 0 for anything
 * else. */
int tw_precision_bytes(int bits);

#define TW_PRECISION_NUMBERS 4

/** What was observed, as plain numbers for a checkpoint. */
void tw_precision_save(const tw_precision_t *precision, double numbers[TW_PRECISION_NUMBERS]);

/** Take it back, after tw_precision_init() with the same settings.
 * @return TW_OK, TW_ERR_INVALID_ARG (NULL), TW_ERR_FORMAT (numbers that no observations give with
 *         these settings; nothing is changed). */
tw_status_t tw_precision_restore(tw_precision_t *precision,
                                 const double    numbers[TW_PRECISION_NUMBERS]);

TW_END_DECLS

#endif /* THINWIRE_PRECISION_H */
