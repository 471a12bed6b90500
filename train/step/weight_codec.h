/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/weight_codec.h - the codec of weights with owners: a fixed codec, or the number of
 * bits that AWP chooses (S0), from one text.
 */
#ifndef TW_TRAIN_WEIGHT_CODEC_H
#define TW_TRAIN_WEIGHT_CODEC_H

#include <thinwire/thinwire.h>

#include "command/problem.h"

#define TW_WEIGHT_SPEC 96 /* bytes of a codec's spec */
#define TW_AWP_LEVELS  33 /* numbers of bits, from 0 on */

typedef struct tw_weight_codec {
    int             adaptive;             /* AWP; else spec                                  */
    char            spec[TW_WEIGHT_SPEC]; /* the codec, of float32                           */
    int             plain;                /* spec is fp32                                    */
    int             chooses;              /* spec is auto                                    */
    tw_precision_t  rule;                 /* initial rule of every group; interval 0: an epoch */
    int             by_epoch;             /* the interval is as many steps as an epoch has   */
    int             by_block;             /* a group is a block of layers; else a layer      */
    int             round;                /* bitpack:K,round                                 */
    int             integers;             /* family=int: int:B in place of bitpack:K         */
    int             level[TW_AWP_LEVELS]; /* with it, B for each number of bits; 0: fp32     */
    char            byte[24];             /* codec of 1 to 8 bits, of awp; "": the family's  */
    tw_weights_of_t norm;                 /* weights of which AWP takes the norms            */
} tw_weight_codec_t;

/** Read a codec's spec, or "awp[:T=X][,interval=N][,step=N][,first=N][,group=layer|block]
 * [,family=bitpack|int][,round][,byte=CODEC][,absolute][,norm=master|packed]".
 * @return 0, or -1 with the problem set. */
int tw_weight_codec_parse(tw_weight_codec_t *how, tw_context_t *ctx, const char *text,
                          tw_problem_t *problem);

/** The codec of a group with `bits` bits. */
void tw_weight_codec_spec(const tw_weight_codec_t *how, int bits, char spec[TW_WEIGHT_SPEC]);

/** The full text, defaults included; interval in steps. */
void tw_weight_codec_text(const tw_weight_codec_t *how, char *text, size_t size);

#endif /* TW_TRAIN_WEIGHT_CODEC_H */
