/* SPDX-License-Identifier: BSD-3-Clause
 * tools/topology_svg.c - a machine and its places as a picture.
 *
 * Packages stand side by side, at most four in a row. Inside one, from top to bottom: its NUMA
 * nodes, each with its cores as squares and its PCIe devices as bars below their switches, then
 * what hangs on the package as a whole. What hangs on the machine stands below the packages, and at
 * the end the list of ranks. A rank has one colour everywhere; cores and devices carry its number,
 * so that the picture can be read without colours. Everything is measured by the same walk that
 * draws it: drawing with no file only measures.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/topology.h"

#define COLUMN       416 /* width of a package           */
#define GAP          14
#define PAD          10
#define CELL         21 /* a core with its gap          */
#define ROW          24 /* a device with its gap        */
#define INDENT       16
#define PER_ROW      4 /* packages                     */
#define LEGEND_LINE  18
#define LEGEND_RANKS 64

typedef struct pen {
    const drawing_t *d;
    FILE            *file; /* NULL: only measure */
} pen_t;

/* Light forms of Okabe and Ito's colours, which people with colour blindness tell apart; then hues.
 */
static const char *colour(int rank, char *text, size_t size)
{
    static const char *const first[] = {"#6fc0ec", "#eeb33b", "#5cc4a0", "#f0e442",
                                        "#dd9ec4", "#f08a5d", "#a3b2dc", "#b9e07a"};

    if (rank < 0) {
        return "#ffffff";
    }
    if (rank < 8) {
        return first[rank];
    }
    snprintf(text, size, "hsl(%d,55%%,68%%)", (rank * 137 + 40) % 360);
    return text;
}

static void put(const pen_t *pen, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(const pen_t *pen, const char *format, ...)
{
    va_list args;

    if (pen->file != NULL) {
        va_start(args, format);
        vfprintf(pen->file, format, args);
        va_end(args);
    }
}

/* Text that may hold what XML reserves, cut to a width in characters. */
static void put_text(const pen_t *pen, int x, int y, const char *style, const char *text, int most)
{
    const int cut = (int)strlen(text) > most;

    put(pen, "<text x=\"%d\" y=\"%d\"%s>", x, y, style);
    for (int i = 0; text[i] != '\0' && i < (cut ? most - 3 : most); i++) {
        const char c = text[i];

        put(pen, c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "%c", c);
    }
    put(pen, "%s</text>\n", cut ? "..." : "");
}

static void put_box(const pen_t *pen, int x, int y, int width, int height, const char *class)
{
    put(pen, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" class=\"%s\"/>\n", x, y,
        width, height, class);
}

/* Cores among the children of a part, as squares with the number of their rank. Returns the y
 * below. */
static int draw_cores(const pen_t *pen, int part, int x, int y, int width)
{
    const drawing_t *d       = pen->d;
    const int        columns = width / CELL;
    int              n       = 0;

    for (int c = d->child[part]; c >= 0; c = d->next[c]) {
        const tw_part_t *core = tw_node_part(d->node, c);
        char             text[TOPOLOGY_LIST], fill[32];
        int              users, cx, cy;

        if (core->kind != TW_PART_CORE) {
            continue;
        }
        cx = x + n % columns * CELL;
        cy = y + n / columns * CELL;
        n++;
        if (pen->file == NULL) {
            continue;
        }
        users = topology_users(d, core, text, sizeof(text));
        put(pen,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\" fill=\"%s\" "
            "class=\"core\">"
            "<title>core %d, threads %s, rank %s</title></rect>\n",
            cx, cy, CELL - 3, CELL - 3,
            users > 1 ? "#d0d0d0" : colour(topology_first_user(d, core), fill, sizeof(fill)),
            core->index, core->pus, users > 0 ? text : "none");
        if (users > 1) {
            snprintf(text, sizeof(text), "x%d", users);
        }
        put_text(pen, cx + (CELL - 3) / 2, cy + 13, " class=\"number\"", text, 4);
    }
    return n > 0 ? y + (n + columns - 1) / columns * CELL + 3 : y;
}

/* A GPU or network interface: a bar in the colour of its rank, the ranks at its right. */
static void draw_device(const pen_t *pen, const tw_part_t *part, int x, int y, int width)
{
    const int first = topology_first_user(pen->d, part);
    char      text[256], ranks[TOPOLOGY_LIST], fill[32], label[TOPOLOGY_LIST + 8] = "";
    const int users = topology_users(pen->d, part, ranks, sizeof(ranks));

    topology_label(part, text, sizeof(text));
    if (users > 0) {
        snprintf(label, sizeof(label), "rank%s %.60s", users > 1 ? "s" : "", ranks);
    }
    put(pen,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" class=\"%s\"/>\n",
        x, y, width, ROW - 4, part->kind == TW_PART_GPU ? 3 : 9,
        users > 1 ? "#e4e4e4" : colour(first, fill, sizeof(fill)), users > 0 ? "device" : "idle");
    put_text(pen, x + 8, y + 14, users > 0 ? "" : " class=\"dim\"", text,
             (width - 24 - 7 * (int)strlen(label)) / 6);
    if (users > 0) {
        put_text(pen, x + width - 8, y + 14, " class=\"rank\"", label, 40);
    }
}

/* PCIe below a part: what is neither core nor NUMA node nor package. Returns the y below. */
static int draw_io(const pen_t *pen, int part, int x, int y, int width)
{
    const drawing_t *d    = pen->d;
    int              from = y, last = 0;

    for (int c = d->child[part]; c >= 0; c = d->next[c]) {
        const tw_part_t *p = tw_node_part(d->node, c);

        if (p->kind == TW_PART_ROOT || p->kind == TW_PART_SWITCH) {
            put(pen, "<rect x=\"%d\" y=\"%d\" width=\"9\" height=\"9\" class=\"%s\"/>\n", x, y + 5,
                p->kind == TW_PART_ROOT ? "root" : "switch");
            put_text(pen, x + 15, y + 14, " class=\"bus\"", p->name, 50);
            last = y + 10;
            y    = draw_io(pen, c, x + INDENT, y + ROW, width - INDENT);
        } else if (p->kind == TW_PART_GPU || p->kind == TW_PART_NIC) {
            draw_device(pen, p, x, y, width);
            last = y + 10;
            y += ROW;
        } else {
            continue;
        }
        if (tw_node_part(d->node, part)->kind == TW_PART_ROOT ||
            tw_node_part(d->node, part)->kind == TW_PART_SWITCH) {
            put(pen, "<path d=\"M%d %dH%d\" class=\"line\"/>\n", x - INDENT + 4, last, x);
        }
    }
    if (last > 0 && (tw_node_part(d->node, part)->kind == TW_PART_ROOT ||
                     tw_node_part(d->node, part)->kind == TW_PART_SWITCH)) {
        put(pen, "<path d=\"M%d %dV%d\" class=\"line\"/>\n", x - INDENT + 4, from - ROW + 14, last);
    }
    return y;
}

/* A NUMA node with its cores and devices. Returns the y below. */
static int draw_numa(const pen_t *pen, int part, int x, int y, int width)
{
    const pen_t measure = {pen->d, NULL};
    char        text[160];
    int         bottom;

    bottom = draw_cores(&measure, part, x + PAD, y + 24, width - 2 * PAD);
    bottom = draw_io(&measure, part, x + PAD, bottom, width - 2 * PAD) + 4;
    put_box(pen, x, y, width, bottom - y, "numa");
    topology_label(tw_node_part(pen->d->node, part), text, sizeof(text));
    put_text(pen, x + PAD, y + 16, "", text, 60);
    if (pen->file != NULL) {
        y = draw_cores(pen, part, x + PAD, y + 24, width - 2 * PAD);
        draw_io(pen, part, x + PAD, y, width - 2 * PAD);
    }
    return bottom;
}

/* What is inside a package. Returns the y below. */
static int draw_inside(const pen_t *pen, int part, int x, int y, int width)
{
    const drawing_t *d = pen->d;

    y = draw_cores(pen, part, x, y, width);
    for (int c = d->child[part]; c >= 0; c = d->next[c]) {
        if (tw_node_part(d->node, c)->kind == TW_PART_NUMA) {
            y = draw_numa(pen, c, x, y, width) + 8;
        }
    }
    return draw_io(pen, part, x, y, width);
}

static int draw_package(const pen_t *pen, int part, int x, int y, int height)
{
    char text[160];

    put_box(pen, x, y, COLUMN, height, "package");
    topology_label(tw_node_part(pen->d->node, part), text, sizeof(text));
    put_text(pen, x + PAD, y + 19, " class=\"title\"", text, 58);
    return draw_inside(pen, part, x + PAD, y + 30, COLUMN - 2 * PAD) + 2;
}

/* All packages, row by row, each row as high as its highest. Returns the y below. */
static int draw_packages(const pen_t *pen, int y)
{
    const tw_node_t *node    = pen->d->node;
    const pen_t      measure = {pen->d, NULL};
    const int        n       = tw_node_count(node, TW_PART_PACKAGE);
    const tw_part_t *base    = tw_node_part(node, 0);

    for (int from = 0; from < n; from += PER_ROW) {
        int height = 0;

        for (int i = from; i < n && i < from + PER_ROW; i++) {
            const int part = (int)(tw_node_find(node, TW_PART_PACKAGE, i) - base);
            const int high = draw_package(&measure, part, 0, 0, 0);

            height = high > height ? high : height;
        }
        for (int i = from; i < n && i < from + PER_ROW && pen->file != NULL; i++) {
            const int part = (int)(tw_node_find(node, TW_PART_PACKAGE, i) - base);

            draw_package(pen, part, GAP + (i - from) * (COLUMN + GAP), y, height);
        }
        y += height + GAP;
    }
    return y;
}

/* What hangs on the machine: nobody knows near which package, or it has no NUMA node with cores. */
static int draw_rest(const pen_t *pen, int y, int width)
{
    const drawing_t *d       = pen->d;
    const pen_t      measure = {d, NULL};
    int              bottom  = draw_io(&measure, 0, 0, y + 30, 0);
    int              numas   = 0;

    for (int c = d->child[0]; c >= 0; c = d->next[c]) {
        numas += tw_node_part(d->node, c)->kind == TW_PART_NUMA;
    }
    if (bottom == y + 30 && numas == 0) {
        return y;
    }
    bottom += numas * LEGEND_LINE;
    put_box(pen, GAP, y, width - 2 * GAP, bottom - y + 4, "package");
    put_text(pen, GAP + PAD, y + 19, " class=\"title\"", "at no package", 40);
    if (pen->file != NULL) {
        int at = draw_io(pen, 0, GAP + PAD, y + 30, COLUMN - 2 * PAD);

        for (int c = d->child[0]; c >= 0; c = d->next[c]) {
            char text[160];

            if (tw_node_part(d->node, c)->kind == TW_PART_NUMA) {
                topology_label(tw_node_part(d->node, c), text, sizeof(text));
                put_text(pen, GAP + PAD, at + 13, "", text, 60);
                at += LEGEND_LINE;
            }
        }
    }
    return bottom + 4 + GAP;
}

static int draw_legend(const pen_t *pen, int y)
{
    const drawing_t *d = pen->d;

    for (int r = 0; r < d->ranks && r < LEGEND_RANKS; r++) {
        const tw_place_t *place = &d->places[r];
        const tw_part_t  *nic   = tw_node_find(d->node, TW_PART_NIC, place->nic);
        char              fill[32], cores[TOPOLOGY_LIST], text[320], gpu[16] = "none";

        topology_list(place->cores, place->core_count, cores, sizeof(cores));
        if (place->gpu >= 0) {
            snprintf(gpu, sizeof(gpu), "%d", place->gpu);
        }
        snprintf(text, sizeof(text), "rank %d: GPU %s, core%s %s, NUMA node %d, network %s%s", r,
                 gpu, place->core_count > 1 ? "s" : "", cores, place->numa,
                 nic != NULL ? nic->name : "none",
                 place->shared & TW_SHARED_CORES ? " (cores shared)"
                 : place->shared & TW_SHARED_GPU ? " (GPU shared)"
                                                 : "");
        put(pen,
            "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\" "
            "class=\"core\"/>\n",
            GAP, y + 2, colour(r, fill, sizeof(fill)));
        put_text(pen, GAP + 20, y + 12, "", text, 140);
        y += LEGEND_LINE;
    }
    if (d->ranks > LEGEND_RANKS) {
        put_text(pen, GAP + 20, y + 12, "", "and more ranks", 20);
        y += LEGEND_LINE;
    }
    return y + 4;
}

static const char style[] =
    "<style>text{font:12px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:#222}"
    ".title{font-weight:bold}.dim,.bus{fill:#666}.number{font-size:9px;text-anchor:middle}"
    ".rank{text-anchor:end;font-weight:bold}.package{fill:#f6f6f3;stroke:#8a8a85}"
    ".numa{fill:#ffffff;stroke:#b9b9b4}.core{stroke:#777777;stroke-width:.6}"
    ".device{stroke:#444444}.idle{stroke:#aaaaaa;stroke-dasharray:3 2}"
    ".root{fill:#ffffff;stroke:#666666}.switch{fill:#666666;stroke:#666666}"
    ".line{fill:none;stroke:#888888}</style>\n";

static int draw_all(const pen_t *pen, int width)
{
    const tw_part_t *machine = tw_node_part(pen->d->node, 0);
    char             title[160];
    int              y = 34;

    snprintf(title, sizeof(title), "%s: %d core%s, %d GPU%s, %d local rank%s", machine->name,
             tw_node_count(pen->d->node, TW_PART_CORE),
             tw_node_count(pen->d->node, TW_PART_CORE) == 1 ? "" : "s",
             tw_node_count(pen->d->node, TW_PART_GPU),
             tw_node_count(pen->d->node, TW_PART_GPU) == 1 ? "" : "s", pen->d->ranks,
             pen->d->ranks == 1 ? "" : "s");
    put_text(pen, GAP, 22, " class=\"title\"", title, 100);
    y = draw_packages(pen, y);
    y = draw_rest(pen, y, width);
    return draw_legend(pen, y) + PAD;
}

int topology_svg(const drawing_t *d, const char *path)
{
    pen_t     pen     = {d, NULL};
    const int n       = tw_node_count(d->node, TW_PART_PACKAGE);
    const int columns = n < 2 ? 2 : n < PER_ROW ? n : PER_ROW;
    const int width   = GAP + columns * (COLUMN + GAP);
    const int height  = draw_all(&pen, width);
    int       error   = 0;

    pen.file = fopen(path, "w");
    if (pen.file == NULL) {
        return errno;
    }
    put(&pen,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
        "%d\">\n",
        width, height, width, height);
    put(&pen, "%s<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", style, width, height);
    draw_all(&pen, width);
    put(&pen, "</svg>\n");
    errno = 0;
    if (fflush(pen.file) != 0 || ferror(pen.file)) {
        error = errno != 0 ? errno : EIO;
    }
    if (fclose(pen.file) != 0 && error == 0) {
        error = errno;
    }
    return error;
}
