/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/test_report.c - the report of the drop-in as text, and its verdict.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "tests/interpose/made_up.h"
#include "tests/suite.h"

/* ---- text ---------------------------------------------------------------------------------- */

static int lines_of(const char *text)
{
    int n = 0;

    for (; *text != '\0'; text++) {
        n += *text == '\n';
        ck_assert_msg(*text == '\n' || (*text >= ' ' && *text <= '~'), "byte %d", *text);
    }
    ck_assert_int_eq(text[-1], '\n');
    return n;
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) == NULL, "\"%s\" in:\n%s", part, text);
}

/* These codecs have lines, in this order; up to NULL. */
static void lists(const char *text, const char *const *specs)
{
    for (; *specs != NULL; specs++) {
        char line[32];

        snprintf(line, sizeof(line), "\n  %s ", *specs);
        has(text, line);
        text = strstr(text, line);
    }
}

/* The last line is this verdict. */
static void ends(const tw_report_about_t *about, const tw_record_t *records, size_t count,
                 const char *verdict)
{
    char *text = text_of(about, records, count);
    char  line[320];

    snprintf(line, sizeof(line), "\nthinwire: %s\n", verdict);
    ck_assert_msg(strlen(text) > strlen(line) &&
                      strcmp(text + strlen(text) - strlen(line), line) == 0,
                  "not \"%s\" at the end of:\n%s", verdict, text);
    ck_assert_int_le(lines_of(text), 40);
    free(text);
}

START_TEST(forty_lines)
{
    const tw_report_about_t about   = about_everything();
    tw_record_t            *records = records_of_everything(500);

    for (size_t count = 0; count <= 500; count = count < 50 ? count + 1 : count + 150) {
        char *text = text_of(&about, records, count);

        ck_assert_int_le(lines_of(text), 40);
        if (count > 0) {
            has(text, "libapp.so+0x1000 ");
            has(text, "remark 7\n");
            has(text, "BROKEN");
            has(text, "counters of 3 of 4 ranks");
            has(text, "with error feedback");
            has(text, "  onebit ");
        }
        if (count == 500) {
            ck_assert_int_eq(lines_of(text), 40);
            has(text, "libapp.so+0x1002 ");
            has(text, " more ");
            has(text, "  others\n");
        }
        free(text);
    }
    free(records);
}
END_TEST

START_TEST(the_table_adds_up)
{
    tw_report_about_t about      = about_job("tree8");
    tw_record_t       records[3] = {compressed(), record_of(TW_RULE_BCAST, TW_WHY_SMALL),
                                    record_of(TW_RULE_REDUCE, TW_WHY_OPERATION)};
    char             *text;

    records[0].verified        = 2;
    records[0].worst           = 0.25;
    records[0].worst_rms       = 0.0034;
    records[1].key.form        = 1;
    records[2].key.nonblocking = 1;
    text                       = text_of(&about, records, 3);
    has(text, "thinwire: codec tree8, 4 ranks, Open MPI v4.1.4, 12.500 s since MPI_Init\n");
    has(text, "  libapp.so+0x1234  world         allreduce   float  tree8           10           "
              "10.000   "
              " 2.600  "
              "250.000     25.000     12.500    2.5e-01    3.4e-03\n");
    has(text, "bcast_init  float  (small)         10           10.000   10.000  250.000\n");
    has(text, "ireduce     float  (operation)     10           10.000   10.000  250.000\n");
    has(text, "  all                                                                30           "
              "30.000   "
              "22.600  "
              "750.000");
    has(text, "     10  10.000  small      below the threshold\n");
    has(text, "     10  10.000  operation  operation is not MPI_SUM, MAX, MIN or PROD of a "
              "predefined type\n");
    has_not(text, "watching");
    has_not(text, "with codec");
    has_not(text, "ranks may differ");
    free(text);
    records[1].kept = 2;
    text            = text_of(&about, records, 3);
    has(text, "note: ranks may differ: the root kept its exact values in 2 broadcasts");
    free(text);
}
END_TEST

START_TEST(candidates_are_exact_in_bytes)
{
    static const char *const of_floats[]  = {"onebit",    "int4", "tree8",  "int8",      "int:12",
                                             "bitpack:2", "bf16", "int:16", "bitpack:3", NULL};
    static const char *const of_doubles[] = {"onebit",    "int4",      "tree8",     "int:12",
                                             "bf16",      "int:16",    "bitpack:3", "int:24",
                                             "bitpack:4", "int:32",    "bitpack:5", "bitpack:6",
                                             "int:48",    "bitpack:7", NULL};
    tw_report_about_t        about        = about_job("");
    tw_record_t              record       = watched();
    char                    *text         = text_of(&about, &record, 1);

    has(text, "thinwire: watching, no codec named, 4 ranks, ");
    has(text, "calls that could be compressed: 10000000 bytes uncompressed, 250.000 ms\n");
    has(text, "  with codec  bytes sent  saved of all bytes  error of floats\n");
    has(text, "  tree8          2600000                74 %          1.3e-02\n");
    has(text, "  onebit          350000                96 %          1.0e+00\n");
    lists(text, of_floats);
    has_not(text, "bitpack:5");
    has_not(text, "int:32");
    has_not(text, "estimated ms");
    has_not(text, "doubles");
    free(text);
    record.could_of[0] = 6000000;
    record.could_of[1] = 4000000;
    text               = text_of(&about, &record, 1);
    has(text, "10000000 bytes uncompressed (4000000 of doubles, with --double), 250.000 ms\n");
    has(text, "  with codec  bytes sent  saved of all bytes  error of floats  of doubles\n");
    has(text, "  bitpack:3      7500000                25 %          3.1e-05     2.4e-04\n");
    free(text);
    record = doubles();
    text   = text_of(&about, &record, 1);
    has(text, "  with codec  bytes sent  saved of all bytes  of doubles\n");
    has(text, "  bitpack:7      8750000                12 %     5.7e-14\n");
    has(text, "  bitpack:5      6250000                38 %     3.7e-09\n");
    has(text, "  bitpack:4      5000000                50 %     9.5e-07\n");
    has(text, "  int:32         5040000                50 %     2.3e-10\n");
    has(text, "  int:24         3790000                62 %     6.0e-08\n");
    has(text, "  tree8          1300000                87 %     1.3e-02\n");
    lists(text, of_doubles);
    free(text);
}
END_TEST

/* Messages carry almost all, and a sum of floats the rest. */
START_TEST(all_bytes_by_kind)
{
    tw_report_about_t about = about_job("");
    tw_record_t       records[4];
    char             *text;

    records[0]              = watched();
    records[0].key.elements = TW_ELEMENTS_f32;
    records[1]              = sent(TW_WATCHED_SEND, TW_WHY_MESSAGE, UINT64_C(4995000000));
    records[2]              = sent(TW_WATCHED_PUT, TW_WHY_ONE_SIDED, UINT64_C(4995000000));
    records[3]              = sent(TW_WATCHED_NEIGHBOR_ALLTOALL, TW_WHY_COLLECTIVE, 0);
    text                    = text_of(&about, records, 4);
    has(text, "  traffic                    calls        MB  of all bytes  float MB  double MB\n");
    has(text, "  collectives                   10    10.000        0.10 %    10.000\n");
    has(text, "  neighbourhood collectives     10     0.000           0 %\n");
    has(text, "  point-to-point                10  4995.000          50 %             4995.000\n");
    has(text, "  one-sided                     10  4995.000          50 %             4995.000\n");
    has(text, "  tree8          2600000              0.07 %          1.3e-02\n");
    has(text,
        "     10  4995.000  message     messages from rank to rank, which thinwire only counts\n");
    free(text);
    ends(&about, records, 4,
         "codecs can reach 0.10 % of the bytes sent: those advised would save 0.07 % of all bytes; "
         "time is not estimated (--verify 64 measures it)");
    ends(&about, &records[1], 1,
         "codecs can reach 0 % of the bytes sent: nothing here to compress; 100 % of all bytes: "
         "messages "
         "from rank to rank, which thinwire only counts");
}
END_TEST

START_TEST(what_is_held)
{
    tw_report_about_t about  = about_job("");
    tw_record_t       record = sent(TW_WATCHED_SEND, TW_WHY_MESSAGE, 1000);
    char             *text   = text_of(&about, &record, 1);

    has_not(text, "messages looked at");
    free(text);
    record.looked                      = 50;
    record.census[TW_CENSUS_SUBNORMAL] = 4;
    record.census[TW_CENSUS_WIDE]      = 50;
    text                               = text_of(&about, &record, 1);
    has(text, "  of messages looked at hold\n");
    has(text, "  subnormal 8 %, over_60_binades 100 %\n");
    free(text);
}
END_TEST

/* The row with most bytes comes first although of its time nothing is known; those of no account
 * are one. */
START_TEST(small_rows_are_one)
{
    tw_report_about_t about = about_job("");
    tw_record_t       records[8];
    char             *text, *first;

    for (int i = 0; i < 7; i++) {
        records[i]            = sent(TW_RULE_ALLREDUCE, TW_WHY_TYPE, 1000);
        records[i].key.offset = 0x2000 + (uint64_t)i;
        records[i].time_ns    = 1000000;
    }
    records[3].time_ns    = 1000000000; /* 2 % of the run: no bytes, but something */
    records[7]            = sent(TW_WATCHED_SEND, TW_WHY_MESSAGE, 1000000000);
    records[7].key.offset = 0x3000;
    text                  = text_of(&about, records, 8);
    first                 = strstr(text, "libapp.so+");
    ck_assert_ptr_nonnull(first);
    ck_assert_msg(strncmp(first, "libapp.so+0x3000", 16) == 0, "%s", text);
    has(text, "libapp.so+0x2003 ");
    has_not(text, "libapp.so+0x2002 ");
    has(text, "  6 below 0.1 % of the bytes  ");
    has(text, "  all  ");
    free(text);
}
END_TEST

START_TEST(strange_names_stay_in_their_cells)
{
    tw_report_about_t about  = about_job("tree8");
    tw_record_t       record = compressed();
    char             *text;

    memset(record.key.comm, '\n', sizeof(record.key.comm)); /* no end either */
    memset(record.key.type, 0xff, sizeof(record.key.type));
    text = text_of(&about, &record, 1);
    ck_assert_int_eq(lines_of(text), 7);
    has(text, "??????????????????????..  allreduce");
    free(text);
}
END_TEST

START_TEST(one_rank_speaks_when_aborted)
{
    tw_report_about_t about  = about_job("tree8");
    tw_record_t       record = compressed();
    char             *text;

    about.aborted = true;
    about.rank    = 2;
    about.heard   = 1;
    text          = text_of(&about, &record, 1);
    has(text, "MPI_Abort was called: these are the counters of rank 2\n");
    has(text, " 1000.000 ");
    has_not(text, "of 4 ranks");
    free(text);
    snprintf(about.error, sizeof(about.error), "MPI_ERR_TRUNCATE: message truncated");
    text = text_of(&about, &record, 1);
    has(text,
        "thinwire: MPI has ended the job (MPI_ERR_TRUNCATE: message truncated): these are the "
        "counters of rank 2\n");
    has_not(text, "MPI_Abort");
    free(text);
}
END_TEST

START_TEST(a_wide_stream_gets_it_too)
{
    tw_report_about_t about  = about_job("tree8");
    tw_record_t       record = compressed();
    char             *want   = text_of(&about, &record, 1), got[8192];
    FILE             *file   = tmpfile();
    size_t            n;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(fwide(file, 1), 0);
    tw_report_text(file, &about, &record, 1);
    ck_assert_int_eq(lseek(fileno(file), 0, SEEK_SET), 0);
    n = (size_t)read(fileno(file), got, sizeof(got));
    ck_assert_uint_eq(n, strlen(want));
    ck_assert_mem_eq(got, want, n);
    fclose(file);
    free(want);
}
END_TEST

/* ---- verdicts ------------------------------------------------------------------------------ */

START_TEST(verdicts_of_nothing)
{
    tw_report_about_t about  = about_job("");
    tw_record_t       record = record_of(TW_RULE_ALLREDUCE, TW_WHY_TYPE);

    ends(&about, NULL, 0,
         "nothing to compress: no collective operation and no message was counted");
    about.intercepted = 0;
    ends(&about, NULL, 0,
         "NOTHING WAS INTERCEPTED: no MPI call of this program was seen (is MPI linked statically, "
         "or is "
         "it another MPI library than this preload is for?)");
    ends(&about, &record, 1,
         "codecs can reach 0 % of the bytes sent: nothing here to compress; 100 % of all bytes: "
         "type is not all float32 or double");
    record.why_bytes[TW_WHY_WATCHING] = record.why_bytes[TW_WHY_TYPE];
    record.why[TW_WHY_WATCHING]       = 2 * record.why[TW_WHY_TYPE];
    ends(&about, &record, 1,
         "codecs can reach 0 % of the bytes sent: nothing here to compress; 100 % of all bytes: "
         "below the threshold");
    record.why[TW_WHY_WATCHING] = record.why_bytes[TW_WHY_WATCHING] = 0;
    about.codec                                                     = "tree8";
    ends(&about, &record, 1,
         "codecs can reach 0 % of the bytes sent: nothing was compressed; 100 % of all bytes: type "
         "is not all float32 or double");
    record.uncompressed = record.sent = record.why_bytes[TW_WHY_TYPE] = 0;
    ends(&about, &record, 1, "nothing to compress: the program sent no data");
    about.ranks = 1;
    ends(&about, &record, 1, "nothing to compress: one rank sends nothing");
}
END_TEST

/* Above the verdict, in this order: one for each type; up to NULL. */
static void advises(const tw_report_about_t *about, const tw_record_t *record,
                    const char *const *lines)
{
    char       *text = text_of(about, record, 1);
    const char *at   = strstr(text, "\nadvice for ");

    for (; *lines != NULL; lines++) {
        ck_assert_msg(at != NULL && strncmp(at + 1, *lines, strlen(*lines)) == 0,
                      "no \"%s\" in:\n%s", *lines, text);
        at = strchr(at + 1, '\n');
    }
    ck_assert_msg(strncmp(at, "\nthinwire: codecs can reach ", 28) == 0, "%s", text);
    free(text);
}

#define OF_ALL " of all bytes; time is not estimated (--verify 64 measures it)"

START_TEST(verdicts_of_watching)
{
    tw_report_about_t about     = about_job("");
    tw_record_t       record    = watched();
    tw_record_t       double_of = doubles();
    char             *text;

    ends(&about, &record, 1,
         "codecs can reach 100 % of the bytes sent: those advised would save 74 %" OF_ALL);
    record.uncompressed *= 2; /* half of the bytes cannot be compressed */
    ends(&about, &record, 1,
         "codecs can reach 50 % of the bytes sent: those advised would save 37 %" OF_ALL);
    record.small_ns = 930000000;
    ends(&about, &record, 1,
         "codecs can reach 50 % of the bytes sent: compression does not pay here: 93 % of the "
         "collective time is in calls of under 4 KiB");
    text = text_of(&about, &record, 1);
    has_not(text, "advice");
    free(text);
    ends(&about, &double_of, 1,
         "codecs can reach 100 % of the bytes sent: those advised would save 62 %" OF_ALL);
}
END_TEST

/* A line for each type that there is: of doubles what has fewer bytes than the usual choice, and no
 * larger error, with the usual choice beside it, as that error is one of the largest value. */
START_TEST(advice_by_type)
{
    tw_report_about_t about  = about_job("");
    tw_record_t       record = watched(), both = doubles();
    const char *const floats[] = {"advice for float: tree8 saves 74 % of all bytes, error up to "
                                  "1.3e-02 of the largest of 4096 values (--rule 'float=tree8')\n",
                                  NULL};
    const char *const all[]    = {
           "advice for float: tree8 saves 37 % of all bytes, error up to 1.3e-02 of the largest of "
              "4096 values (--rule 'float:>=64k=tree8')\n",
           "advice for double: int:24 saves 15 % of all bytes, error up to 6.0e-08 of the largest of "
              "256 values; where every value's own error counts bitpack:4 saves 12 % of all bytes, error "
              "up to 9.5e-07 of the value (--rule 'double:>=64k=int:24')\n",
           "advice for bfloat16: none, values of 16 bits are left as they are\n", NULL};

    advises(&about, &record, floats);
    about.threshold  = 65536;
    both.could_of[0] = 30000000;
    both.could_of[3] = 1000000;
    both.could_bytes += 31000000;
    both.uncompressed += 31000000;
    for (int c = 0; c < tw_candidates()->count; c++) {
        both.could[0][c] = 15000000; /* of equal bytes it is the usual choice */
        both.could[3][c] = 500000;
    }
    advises(&about, &both, all);
    ends(&about, &both, 1,
         "codecs can reach 100 % of the bytes sent: those advised would save 52 %" OF_ALL);
    both.could_of[0] = both.could_of[1] = 0; /* nothing is advised for what is left */
    ends(
        &about, &both, 1,
        "codecs can reach 100 % of the bytes sent: nothing here to compress; 24 % of all bytes: no "
        "codec is advised");
}
END_TEST

START_TEST(verdicts_with_a_codec)
{
    tw_report_about_t about  = about_job("tree8");
    tw_record_t       record = compressed();

    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: saved 74 % of all bytes; time was not compared "
         "with native MPI (see --verify)");
    record.verified = 3;
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: saved 74 % of all bytes; time was not compared "
         "with native MPI");
    record.exact_ns    = 100;
    record.verified_ns = 39;
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: saved 74 % of all bytes; 3 verified calls took "
         "61 % less time than native MPI");
    record.small_ns = 930000000; /* of all calls: the two do not contradict each other */
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: saved 74 % of all bytes; 3 verified calls took "
         "61 % less time than native MPI; but 93 % of "
         "the collective time is in calls of under 4 KiB");
    record.verified_ns = 140;
    record.verified    = 1;
    record.small_ns    = 0;
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: compression does not pay here: saved 74 % of all "
         "bytes, but 1 verified call took 40 % more "
         "time than native MPI");
    record.exact_ns = record.verified_ns = record.verified = 0;
    record.sent                                            = record.uncompressed - 1;
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: saved under 0.01 % of all bytes; time was not "
         "compared with native MPI (see --verify)");
    record.sent = 1;
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: saved over 99 % of all bytes; time was not "
         "compared with native MPI (see --verify)");
    record.sent = record.uncompressed + 1;
    ends(&about, &record, 1,
         "codecs reached 100 % of the bytes sent: compression does not pay here: no bytes were "
         "saved");
}
END_TEST

START_TEST(the_contract)
{
    tw_report_about_t about  = about_job("tree8");
    tw_record_t       record = compressed();
    char             *text;

    about.contract = 0.01;
    text           = text_of(&about, &record, 1);
    has(text, "of a call at most 1.0e-02\n");
    has(text, "note: error contract: no call was verified\n");
    free(text);
    record.verified  = 5;
    record.worst_rms = 0.0031;
    text             = text_of(&about, &record, 1);
    has(text, "note: error contract: kept in all 5 verified calls, worst 3.1e-03\n");
    free(text);
    record.worst_rms = (double)NAN;
    record.steps     = 4;
    text             = text_of(&about, &record, 1);
    has(text, "note: error contract: BROKEN in verified calls, worst nan; the next calls took a "
              "finer codec\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite   = suite_create("report");
    TCase *text    = test_case(suite, "text");
    TCase *verdict = test_case(suite, "verdict");

    tcase_set_timeout(text, 60);
    tcase_set_timeout(verdict, 60);
    tcase_add_test(text, forty_lines);
    tcase_add_test(text, the_table_adds_up);
    tcase_add_test(text, candidates_are_exact_in_bytes);
    tcase_add_test(text, all_bytes_by_kind);
    tcase_add_test(text, small_rows_are_one);
    tcase_add_test(text, what_is_held);
    tcase_add_test(text, strange_names_stay_in_their_cells);
    tcase_add_test(text, one_rank_speaks_when_aborted);
    tcase_add_test(text, a_wide_stream_gets_it_too);
    tcase_add_test(verdict, verdicts_of_nothing);
    tcase_add_test(verdict, verdicts_of_watching);
    tcase_add_test(verdict, advice_by_type);
    tcase_add_test(verdict, verdicts_with_a_codec);
    tcase_add_test(verdict, the_contract);
    return test_main(suite);
}
