/* SPDX-License-Identifier: BSD-3-Clause
 * tests/fuzz/spec.c - codec specs and lists of them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <thinwire/codec.h>

#include "tests/fuzz/target.h"

/* What is taken has a full spec that gives the same codec again. */
static bool make(const char *spec, tw_dtype_t dtype)
{
    char        why[200] = "";
    tw_codec_t *codec = NULL, *again = NULL;
    tw_status_t status = tw_codec_create(fuzz_context(), spec, dtype, &codec, why, sizeof(why));
    size_t      bytes  = 0;

    if (status != TW_OK) {
        fuzz_check(codec == NULL && why[0] != '\0' && strchr(why, '\n') == NULL,
                   "a refusal says why, in one line");
        return false;
    }
    status = tw_codec_create(fuzz_context(), tw_codec_spec(codec), dtype, &again, NULL, 0);
    fuzz_check(status == TW_OK && strcmp(tw_codec_spec(codec), tw_codec_spec(again)) == 0,
               "the full spec is accepted");
    tw_codec_size(codec, 12345, &bytes);
    tw_codec_size(codec, SIZE_MAX, &bytes);
    tw_codec_destroy(codec);
    tw_codec_destroy(again);
    return true;
}

static bool run(const uint8_t *data, size_t size)
{
    char  *text   = fuzz_text(data, size), spec[64];
    size_t cursor = 0, last = 0;
    bool   taken = make(text, TW_F32);

    make(text, TW_F64);
    while (tw_codec_list_next(text, &cursor, spec, sizeof(spec)) == TW_OK) {
        fuzz_check(cursor > last || cursor >= strlen(text), "a list comes to its end");
        fuzz_check(memchr(spec, '\0', sizeof(spec)) != NULL, "a spec has an end");
        last  = cursor;
        taken = true;
    }
    free(text);
    return taken;
}

static size_t seed(int index, uint8_t *data)
{
    static const char *const texts[] = {"fp32,bf16,fp16",
                                        "bitpack:3,round",
                                        "tree8:block=512,split=0.55,onebit",
                                        "int8:block=1048576",
                                        "static8:offset=10,mantissa8:offset=10000",
                                        "onebit:block=2048",
                                        "auto:0.05",
                                        "int:12,block=64,scale=2k,int4"};

    return index < 8 ? fuzz_seed_text(data, texts[index]) : 0;
}

const fuzz_target_t fuzz_spec = {"spec", false, NULL, run, seed};
