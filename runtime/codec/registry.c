/* SPDX-License-Identifier: BSD-3-Clause
 * codec/registry.c - what the codecs are called, and what they offer.
 */
#include "config.h"

#include "runtime/codec/offers.h"

size_t tw_codec_count(void)
{
    size_t count = 0;

    while (tw_codecs[count] != NULL) {
        count++;
    }
    return count;
}

tw_status_t tw_codec_describe(size_t index, const char **name, const char **form, const char **help)
{
    if (index >= tw_codec_count()) {
        return TW_ERR_RANGE;
    }
    if (name != NULL) {
        *name = tw_codecs[index]->name;
    }
    if (form != NULL) {
        *form = tw_codecs[index]->form;
    }
    if (help != NULL) {
        *help = tw_codecs[index]->help;
    }
    return TW_OK;
}

const tw_codec_offer_t *tw_codec_offer(unsigned to, tw_dtype_t dtype, size_t index)
{
    for (size_t c = 0; tw_codecs[c] != NULL; c++) {
        for (const tw_codec_offer_t *offer = tw_codecs[c]->offers; offer->spec != NULL; offer++) {
            if ((offer->to & to) != 0 && offer->dtype == dtype && index-- == 0) {
                return offer;
            }
        }
    }
    return NULL;
}

const char *tw_codec_finer(const tw_codec_t *codec)
{
    return codec->finer != NULL ? codec->finer : "";
}
