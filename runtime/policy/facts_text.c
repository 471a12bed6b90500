/* SPDX-License-Identifier: BSD-3-Clause
 * policy/facts_text.c - facts from a text file; facts_write.c writes it.
 *
 *     thinwire calibration 2
 *     version 0.1.0
 *     hosts node0*4 node1*4
 *     fabric Open MPI v4.1.4, ...
 *     codecs avx512 threads=1
 *     ranks 8 4 2              ranks, nodes, most ranks on a node
 *     form 1
 *     engine 1.5e-06
 *     inside  latency bandwidth shared message
 *     between latency bandwidth shared message
 *     plain allreduce 4 1e-06  one line per size
 *     codec tree8 0 1.0009765625 4096 0.00859 0 encode decode decode_add call
 *     factor allreduce two_pass bytes factor bytes factor
 *     processor 0.5 3e-10      a rank's part of one, seconds for each byte
 *     checksum 0123456789abcdef
 *
 * The checksum (FNV-1a, of all lines before it) is for files that were cut or changed by accident.
 * Numbers have 17 digits: what is read is what was written, and what every rank then computes with.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/text.h"
#include "runtime/base/dtype.h"
#include "runtime/policy/facts_inside.h"
#include "runtime/policy/model.h"

#define TW_FACTS_WORDS 12

static bool tw_number(const char *word, double *value_p)
{
    return word != NULL && tw_text_number(word, value_p);
}

static bool tw_whole(const char *word, double most, double *value_p)
{
    return tw_number(word, value_p) && *value_p >= 0.0 && *value_p <= most &&
           floor(*value_p) == *value_p;
}

static bool tw_int(const char *word, int most, int *value_p)
{
    double value;

    if (!tw_whole(word, most, &value)) {
        return false;
    }
    *value_p = (int)value;
    return true;
}

/* Words of a line, cut in place; NULL where there are fewer. */
static int tw_words(char *line, char **words)
{
    int count = 0;

    memset(words, 0, TW_FACTS_WORDS * sizeof(*words));
    for (char *at = line; *at != '\0';) {
        at += strspn(at, " ");
        if (*at == '\0' || count == TW_FACTS_WORDS) {
            break;
        }
        words[count++] = at;
        at += strcspn(at, " ");
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    return count;
}

static bool tw_read_link(char **words, tw_link_facts_t *link)
{
    return tw_number(words[1], &link->latency) && tw_number(words[2], &link->bandwidth) &&
           tw_number(words[3], &link->shared) && tw_number(words[4], &link->message);
}

static int tw_operation_of(const char *word)
{
    for (int o = 0; word != NULL && o < TW_OPERATIONS; o++) {
        if (strcmp(tw_model_operations[o], word) == 0) {
            return o;
        }
    }
    return -1;
}

static bool tw_read_native(char **words, tw_facts_t *facts)
{
    const int    o = tw_operation_of(words[1]);
    tw_ladder_t *ladder;

    if (o < 0 || facts->native[o].steps == TW_LADDER_STEPS) {
        return false;
    }
    ladder = &facts->native[o];
    ladder->steps++;
    return tw_number(words[2], &ladder->bytes[ladder->steps - 1]) &&
           tw_number(words[3], &ladder->seconds[ladder->steps - 1]);
}

static bool tw_read_codec(char **words, tw_facts_t *facts)
{
    tw_codec_facts_t *c;
    double            block;
    int               dtype;

    if (facts->codecs == TW_FACTS_CODECS || words[1] == NULL || strlen(words[1]) >= TW_FACTS_SPEC) {
        return false;
    }
    c = &facts->codec[facts->codecs++];
    strcpy(c->spec, words[1]);
    if (!tw_whole(words[4], 1048576.0, &block)) {
        return false;
    }
    c->block = (size_t)block;
    if (!tw_int(words[2], UINT8_MAX, &dtype) || tw_dtype_row((tw_dtype_t)dtype) == NULL) {
        return false;
    }
    c->dtype = (tw_dtype_t)dtype;
    return tw_number(words[3], &c->bytes) && tw_number(words[5], &c->max_error) &&
           tw_int(words[6], 1, &c->feedback) && tw_number(words[7], &c->encode) &&
           tw_number(words[8], &c->decode) && tw_number(words[9], &c->decode_add) &&
           tw_number(words[10], &c->call);
}

static bool tw_read_factor(char **words, tw_facts_t *facts)
{
    const int o = tw_operation_of(words[1]);
    const int a = o >= 0 && words[2] != NULL ? tw_model_find((tw_operation_t)o, words[2]) : -1;

    return a >= 0 && tw_number(words[3], &facts->factor_bytes[a][0]) &&
           tw_number(words[4], &facts->factor[a][0]) &&
           tw_number(words[5], &facts->factor_bytes[a][1]) &&
           tw_number(words[6], &facts->factor[a][1]);
}

/* The rest of a line that begins with a word, or false if it is too long. */
static bool tw_read_text(const char *line, const char *word, char *text, size_t size)
{
    const char *rest = line + strlen(word) + 1;

    if (strlen(rest) >= size) {
        return false;
    }
    strcpy(text, rest);
    return true;
}

static bool tw_begins(const char *line, const char *word)
{
    const size_t length = strlen(word);

    return strncmp(line, word, length) == 0 && line[length] == ' ';
}

static bool tw_read_line(char *line, tw_facts_t *facts, tw_facts_key_t *key)
{
    static const struct {
        const char *word;
        int         count;
    } known[] = {{"ranks", 4}, {"form", 2},   {"engine", 2}, {"inside", 5},   {"between", 5},
                 {"plain", 4}, {"codec", 11}, {"factor", 7}, {"processor", 3}};
    char *words[TW_FACTS_WORDS];
    int   count, which = -1;

    if (tw_begins(line, "version")) {
        return tw_read_text(line, "version", key->version, sizeof(key->version));
    }
    if (tw_begins(line, "hosts")) {
        return tw_read_text(line, "hosts", key->hosts, sizeof(key->hosts));
    }
    if (tw_begins(line, "fabric")) {
        return tw_read_text(line, "fabric", key->fabric, sizeof(key->fabric));
    }
    if (tw_begins(line, "codecs")) {
        return tw_read_text(line, "codecs", key->codecs, sizeof(key->codecs));
    }
    count = tw_words(line, words);
    for (int i = 0; count > 0 && i < (int)(sizeof(known) / sizeof(known[0])); i++) {
        which = strcmp(known[i].word, words[0]) == 0 && known[i].count == count ? i : which;
    }
    switch (which) {
    case 0:
        return tw_int(words[1], 1 << 24, &facts->ranks) &&
               tw_int(words[2], 1 << 24, &facts->nodes) &&
               tw_int(words[3], 1 << 24, &facts->local_ranks);
    case 1:
        return tw_int(words[1], 1, &facts->long_form);
    case 2:
        return tw_number(words[1], &facts->engine);
    case 3:
        return tw_read_link(words, &facts->inside);
    case 4:
        return tw_read_link(words, &facts->between);
    case 5:
        return tw_read_native(words, facts);
    case 6:
        return tw_read_codec(words, facts);
    case 7:
        return tw_read_factor(words, facts);
    case 8:
        return tw_number(words[1], &facts->processor) && tw_number(words[2], &facts->moving);
    default:
        return false;
    }
}

/* Where the line of the checksum begins, if it is right; else 0. */
static size_t tw_checked(const char *text, size_t length)
{
    static const char mark[] = "checksum ";
    char              want[40];
    size_t            at = length;

    if (length < 2 || text[length - 1] != '\n') {
        return 0;
    }
    for (at = length - 1; at > 0 && text[at - 1] != '\n'; at--) {
    }
    snprintf(want, sizeof(want), "%s%016" PRIx64 "\n", mark, tw_fnv1a(TW_FNV_START, text, at));
    return length - at == strlen(want) && memcmp(text + at, want, length - at) == 0 ? at : 0;
}

static bool tw_why(char *why, size_t why_size, const char *text)
{
    snprintf(why, why_size, "%s", text);
    return false;
}

bool tw_facts_read(const char *text, size_t length, tw_facts_t *facts_p, tw_facts_key_t *key_p,
                   char *why, size_t why_size)
{
    static const char header[] = TW_FACTS_HEADER "\n";
    tw_facts_t        facts    = {0};
    tw_facts_key_t    key      = {.version = ""};
    char              line[TW_FACTS_KEY + 64];
    size_t            end;
    int               number = 1;

    tw_why(why, why_size, "");
    if (length < strlen(header) || memcmp(text, header, strlen(header)) != 0) {
        return tw_why(why, why_size, "it does not begin with '" TW_FACTS_HEADER "'");
    }
    end = tw_checked(text, length);
    if (end == 0) {
        return tw_why(why, why_size, "its checksum is missing or wrong: it was cut or changed");
    }
    for (size_t at = strlen(header); at < end; number++) {
        const char  *stop = memchr(text + at, '\n', end - at);
        const size_t n    = stop != NULL ? (size_t)(stop - text) - at : 0;

        if (stop == NULL || n >= sizeof(line) || memchr(text + at, '\0', n) != NULL) {
            return tw_why(why, why_size, "it is no text of lines");
        }
        memcpy(line, text + at, n);
        line[n] = '\0';
        at += n + 1;
        if (!tw_read_line(line, &facts, &key)) {
            snprintf(why, why_size, "line %d is not understood", number + 1);
            return false;
        }
    }
    if (!tw_facts_valid(&facts)) {
        return tw_why(why, why_size, "its numbers are missing or out of range");
    }
    *facts_p = facts;
    *key_p   = key;
    return true;
}

bool tw_facts_fit(const tw_facts_key_t *found, const tw_facts_key_t *here, char *why,
                  size_t why_size)
{
    if (strcmp(found->version, here->version) != 0) {
        snprintf(why, why_size, "it was written by version %s", found->version);
    } else if (strcmp(found->hosts, here->hosts) != 0) {
        snprintf(why, why_size, "it is of other hosts or another layout: %.100s", found->hosts);
    } else if (strcmp(found->fabric, here->fabric) != 0) {
        snprintf(why, why_size, "it is of another fabric: %.100s", found->fabric);
    } else if (strcmp(found->codecs, here->codecs) != 0) {
        snprintf(why, why_size, "it is of other codec kernels: %s", found->codecs);
    } else {
        return true;
    }
    return false;
}
