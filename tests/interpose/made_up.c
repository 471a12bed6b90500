/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/made_up.c - see made_up.h.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/made_up.h"

tw_report_about_t about_job(const char *codec)
{
    tw_report_about_t about = {.ranks       = 4,
                               .heard       = 4,
                               .seconds     = 12.5,
                               .codec       = codec,
                               .library     = "Open MPI v4.1.4, package: Debian OpenMPI",
                               .intercepted = 10};

    return about;
}

tw_record_t record_of(tw_rule_op_t op, tw_why_t why)
{
    tw_record_t record;

    memset(&record, 0, sizeof(record));
    record.key.op = (uint8_t)op;
    snprintf(record.key.type, sizeof(record.key.type), "float");
    snprintf(record.key.comm, sizeof(record.key.comm), "world");
    snprintf(record.key.object, sizeof(record.key.object), "libapp.so");
    record.key.offset     = 0x1234;
    record.calls          = 10;
    record.uncompressed   = 10000000;
    record.sent           = 10000000;
    record.time_ns        = 1000000000;
    record.why[why]       = 10;
    record.why_bytes[why] = 10000000;
    return record;
}

tw_record_t compressed(void)
{
    tw_record_t record = record_of(TW_RULE_ALLREDUCE, TW_WHY_NOT);

    snprintf(record.key.codec, sizeof(record.key.codec), "tree8");
    record.sent      = 2600000;
    record.encode_ns = 100000000;
    record.decode_ns = 50000000;
    return record;
}

/* Bytes per float32: 3, 2, 1, 1/2, and a little for blocks; onebit: 1/8. */
tw_record_t watched(void)
{
    static const struct {
        const char *spec;
        uint64_t    bytes;
    } could[]          = {{"bitpack:3", 7500000}, {"bf16", 5000000}, {"bitpack:2", 5000000},
                          {"tree8", 2600000},     {"int8", 2600000}, {"int:12", 3790000},
                          {"int:16", 5040000},    {"int4", 1410000}, {"onebit", 350000}};
    tw_record_t record = record_of(TW_RULE_ALLREDUCE, TW_WHY_WATCHING);

    for (int c = 0; c < tw_candidates()->count; c++) {
        for (size_t i = 0; i < sizeof(could) / sizeof(could[0]); i++) {
            if (strcmp(tw_candidates()->row[c].spec, could[i].spec) == 0) {
                record.could[0][c] = could[i].bytes;
            }
        }
    }
    record.could_bytes = record.could_of[0] = 10000000;
    record.could_ns                         = 1000000000;
    return record;
}

/* Bytes per double: as many as bitpack or int says, or those of a codec of floats. */
tw_record_t doubles(void)
{
    tw_record_t record = watched();

    for (int c = 0; c < tw_candidates()->count; c++) {
        const char *const spec = tw_candidates()->row[c].spec;

        if (strncmp(spec, "bitpack:", 8) == 0) {
            record.could[1][c] = (uint64_t)(spec[8] - '0') * 1250000;
        } else if (strncmp(spec, "int:", 4) == 0) {
            record.could[1][c] = strtoull(spec + 4, NULL, 10) / 8 * 1250000 + 40000;
        } else {
            record.could[1][c] = record.could[0][c] / 2;
        }
        record.could[0][c] = 0;
    }
    record.could_of[0] = 0;
    record.could_of[1] = record.could_bytes;
    return record;
}

tw_record_t sent(int op, tw_why_t why, uint64_t bytes)
{
    tw_record_t record = record_of(TW_RULE_ALLREDUCE, why);

    record.key.op       = (uint8_t)op;
    record.key.elements = TW_ELEMENTS_f64;
    record.uncompressed = record.sent = record.why_bytes[why] = bytes;
    record.time_ns                                            = 0;
    return record;
}

tw_report_about_t about_everything(void)
{
    tw_report_about_t about = about_job("by rules");

    about.heard    = 3;
    about.contract = 0.01;
    about.feedback = true;
    for (int i = 0; i < 8; i++) {
        snprintf(about.remarks[i], sizeof(about.remarks[i]), "remark %d", i);
    }
    return about;
}

tw_record_t *records_of_everything(size_t count)
{
    tw_record_t *records = calloc(count, sizeof(*records));

    ck_assert_ptr_nonnull(records);
    for (size_t i = 0; i < count; i++) {
        records[i]            = i % 3 == 0 ? watched() : compressed();
        records[i].key.op     = (uint8_t)(i % TW_RULE_OPS);
        records[i].key.offset = 0x1000 + i;
        records[i].time_ns    = 1000000 * (uint64_t)(2 * count - i);
        records[i].verified   = 1;
        records[i].worst_rms  = 0.02;
        records[i].why[1 + i % (TW_WHY_COUNT - 1)]++;
    }
    ck_assert_uint_eq(tw_records_merge(records, count), count);
    return records;
}

char *text_of(const tw_report_about_t *about, const tw_record_t *records, size_t count)
{
    char  *text   = NULL;
    size_t size   = 0;
    FILE  *stream = open_memstream(&text, &size);

    ck_assert_ptr_nonnull(stream);
    tw_report_text(stream, about, records, count);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_uint_eq(strlen(text), size);
    return text;
}
