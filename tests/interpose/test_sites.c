/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/test_sites.c - addresses become names: with addr2line, without it, and with ones
 * that hang or look at their environment.
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/report/addr2line.h"
#include "interpose/report/names.h"
#include "interpose/report/records.h"
#include "runtime/base/clock.h"
#include "tests/suite.h"

static char folder[] = "/tmp/thinwire-sites-XXXXXX"; /* made in main() */
static char old_path[4096];

/* ---- what is called ------------------------------------------------------------------------ */

static volatile int beside;

__attribute__((noinline)) static void *where_am_i(void)
{
    beside++; /* or gcc takes the address at compile time */
    return __builtin_return_address(0);
}

enum { LINE_OF_CALL = __LINE__ + 5 };
__attribute__((noinline)) static void *a_caller(void)
{
    void *address;

    address = where_am_i();
    beside++; /* not a tail call */
    return address;
}

/* ---- fakes --------------------------------------------------------------------------------- */

/* A program named addr2line that is this script, alone in PATH. */
static void fake(const char *script)
{
    char  name[128];
    FILE *file;

    snprintf(name, sizeof(name), "%s/addr2line", folder);
    file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\nPATH='%s'\n%s\n", old_path, script);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(name, 0755), 0);
    setenv("PATH", folder, 1);
}

static void no_fake(void)
{
    char name[128];

    snprintf(name, sizeof(name), "%s/addr2line", folder);
    unlink(name);
    snprintf(name, sizeof(name), "%s/environment", folder);
    unlink(name);
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int  n   = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

static void nothing_left(int files)
{
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
    ck_assert_int_eq(open_files(), files);
}

static void locate(void *address, char object[64], uint64_t *offset_p)
{
    tw_site_locate((uint64_t)(uintptr_t)address, object, 64, offset_p);
}

/* ---- tests --------------------------------------------------------------------------------- */

START_TEST(a_call_of_this_program)
{
    const int files = open_files();
    char      object[64], text[256], want[64];
    uint64_t  offset;

    locate(a_caller(), object, &offset);
    ck_assert_str_eq(object, "test_sites");
    tw_site_name(object, offset, text, sizeof(text));
    snprintf(want, sizeof(want), "a_caller at test_sites.c:%d", LINE_OF_CALL);
    ck_assert_str_eq(text, want);
    nothing_left(files);
}
END_TEST

START_TEST(without_addr2line)
{
    const int files  = open_files();
    char     *inside = (char *)dlsym(RTLD_DEFAULT, "l64a");
    char      object[64], text[256], want[128];
    uint64_t  offset;

    setenv("PATH", "/nonexistent", 1);
    locate(a_caller(), object, &offset);
    tw_site_name(object, offset, text, sizeof(text));
    snprintf(want, sizeof(want), "test_sites+0x%llx", (unsigned long long)offset);
    ck_assert_str_eq(text, want);

    ck_assert_ptr_nonnull(inside);
    locate(inside + 4, object, &offset);
    tw_site_name(object, offset, text, sizeof(text));
    snprintf(want, sizeof(want), "l64a+0x4 in %s", object);
    ck_assert_str_eq(text, want);
    nothing_left(files);
}
END_TEST

START_TEST(objects_of_others_and_no_objects)
{
    char     object[64], text[256];
    uint64_t offset = 1;

    tw_site_name("libnowhere.so", 0x1234, text, sizeof(text));
    ck_assert_str_eq(text, "libnowhere.so+0x1234");
    tw_site_locate(16, object, sizeof(object), &offset);
    ck_assert_str_eq(object, "");
    ck_assert_uint_eq(offset, 0);
    tw_site_name(object, offset, text, sizeof(text));
    ck_assert_str_eq(text, "(generated code)");
    tw_site_name(TW_COMM_OTHERS, 0, text, sizeof(text));
    ck_assert_str_eq(text, TW_COMM_OTHERS);
}
END_TEST

/* Many sites are one question, and what is known is not asked again. */
START_TEST(one_run_for_many_sites)
{
    enum { SITES = 100 };
    static tw_record_t records[SITES];
    char               object[64], text[256], want[64], script[256];
    uint64_t           offset;
    struct stat        asked;

    locate(a_caller(), object, &offset);
    snprintf(script, sizeof(script),
             "echo run >>%s/environment\nshift 4\n"
             "for a; do echo \"ns::f<int>(void (*)(int), $a) const\"; echo /x/y.c:7; done",
             folder);
    fake(script);
    for (int i = 0; i < SITES; i++) {
        memcpy(records[i].key.object, object, sizeof(object));
        records[i].key.offset = 0x1001 + 0x10 * (uint64_t)i;
    }
    tw_site_prepare(records, SITES);
    tw_site_prepare(records, SITES);
    for (int i = 0; i < SITES; i++) {
        tw_site_name(object, records[i].key.offset, text, sizeof(text));
        ck_assert_str_eq(text, "ns::f<int> at y.c:7");
    }
    snprintf(want, sizeof(want), "%s/environment", folder);
    ck_assert_int_eq(stat(want, &asked), 0);
    ck_assert_int_eq((int)asked.st_size, (int)strlen("run\n"));
}
END_TEST

/* The answers belong to the addresses, across several runs of it. */
START_TEST(answers_keep_their_order)
{
    enum { SITES = 300 };
    static uint64_t    addresses[SITES];
    static tw_answer_t answers[SITES];
    char               want[32];

    fake("shift 4\nfor a; do echo f_$a; echo \"/x/y.c:$(($a + 1)) (discriminator 2)\"; done");
    for (int i = 0; i < SITES; i++) {
        addresses[i] = (uint64_t)(SITES - i) * 3;
    }
    ck_assert_int_eq(tw_addr2line("x", addresses, SITES, answers, UINT64_C(20000000000)), SITES);
    for (int i = 0; i < SITES; i++) {
        snprintf(want, sizeof(want), "f_0x%llx", (unsigned long long)addresses[i]);
        ck_assert_str_eq(answers[i].function, want);
        snprintf(want, sizeof(want), "y.c:%llu", (unsigned long long)addresses[i] + 1);
        ck_assert_str_eq(answers[i].place, want);
    }
}
END_TEST

START_TEST(names_of_functions_lose_their_arguments)
{
    static const char *const cases[][2] = {
        {"main", "main"},
        {"LAMMPS_NS::Remap::perform(double*, plan<int (*)(int)>*)", "LAMMPS_NS::Remap::perform"},
        {"(anonymous namespace)::go(int)", "(anonymous namespace)::go"},
        {"a::operator()", "a::operator()"},
        {"a::operator()(int) const", "a::operator()"},
        {"f()::{lambda()#1}::operator()() const", "f()::{lambda()#1}::operator()"},
        {"??", ""},
        {")", ")"},
    };
    enum { CASES = sizeof(cases) / sizeof(cases[0]) };
    uint64_t    addresses[CASES] = {0};
    tw_answer_t answers[CASES];
    char        script[1024] = "";

    for (int i = 0; i < CASES; i++) {
        strcat(strcat(strcat(script, "echo '"), cases[i][0]), "'; echo ??:0\n");
    }
    fake(script);
    ck_assert_int_eq(tw_addr2line("x", addresses, CASES, answers, UINT64_C(20000000000)), CASES);
    for (int i = 0; i < CASES; i++) {
        ck_assert_str_eq(answers[i].function, cases[i][1]);
        ck_assert_str_eq(answers[i].place, "");
    }
}
END_TEST

/* Without a line, a function is believed only of an object with a symbol table: of a stripped one
 * (libc is) addr2line gives the exported function before the address, however far. */
START_TEST(functions_without_lines)
{
    char     object[64], text[256], want[128];
    uint64_t offset;

    fake("shift 4\nfor a; do echo the_one_before; echo '??:?'; done");
    locate(a_caller(), object, &offset);
    tw_site_name(object, offset, text, sizeof(text));
    ck_assert_str_eq(text, "the_one_before in test_sites");
    locate(dlsym(RTLD_DEFAULT, "l64a"), object, &offset);
    tw_site_name(object, 16, text, sizeof(text)); /* in the head of the file */
    snprintf(want, sizeof(want), "%s+0x10", object);
    ck_assert_str_eq(text, want);
}
END_TEST

START_TEST(the_preload_is_not_passed_on)
{
    char     object[64], text[256], script[256], line[512];
    uint64_t offset;
    FILE    *file;
    bool     mine = false;

    locate(a_caller(), object, &offset);
    snprintf(script, sizeof(script), "env >%s/environment", folder);
    fake(script);
    setenv("LD_PRELOAD", "/nonexistent/a.so", 1);
    setenv("THINWIRE_TEST_MINE", "1", 1);
    tw_site_name(object, offset, text, sizeof(text));
    ck_assert_str_eq(getenv("LD_PRELOAD"), "/nonexistent/a.so");
    snprintf(line, sizeof(line), "%s/environment", folder);
    file = fopen(line, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        ck_assert_msg(strncmp(line, "LD_PRELOAD", 10) != 0, "%s", line);
        mine = mine || strcmp(line, "THINWIRE_TEST_MINE=1\n") == 0;
    }
    fclose(file);
    ck_assert(mine);
}
END_TEST

/* What it has answered is used; then it is killed, and not asked again for long. */
START_TEST(one_that_hangs)
{
    const int      files = open_files();
    const uint64_t start = tw_clock_ns();
    tw_record_t    records[2];
    char           object[64], text[256], want[128];
    uint64_t       offset;

    fake("echo f; echo /x/y.c:7; exec sleep 600");
    memset(records, 0, sizeof(records));
    locate(a_caller(), object, &offset);
    memcpy(records[0].key.object, object, sizeof(object));
    memcpy(records[1].key.object, object, sizeof(object));
    records[0].key.offset = 1;
    records[1].key.offset = 2;
    tw_site_prepare(records, 2);
    ck_assert_uint_lt(tw_clock_ns() - start, UINT64_C(15000000000));
    tw_site_name(object, 1, text, sizeof(text));
    ck_assert_str_eq(text, "f at y.c:7");
    tw_site_name(object, 2, text, sizeof(text));
    snprintf(want, sizeof(want), "%s+0x2", object);
    ck_assert_str_eq(text, want);
    nothing_left(files);
    for (uint64_t i = 3; i < 40; i++) {
        tw_site_name(object, i, text, sizeof(text));
    }
    ck_assert_uint_lt(tw_clock_ns() - start, UINT64_C(30000000000));
    nothing_left(files);
}
END_TEST

/* A program that ignores its children's ends, and one that has closed its standard streams. */
START_TEST(odd_programs)
{
    char     object[64], text[256], want[64];
    uint64_t offset;
    int      kept;

    signal(SIGCHLD, SIG_IGN);
    locate(a_caller(), object, &offset);
    kept = dup(STDOUT_FILENO);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    tw_site_name(object, offset, text, sizeof(text));
    dup2(kept, STDOUT_FILENO);
    snprintf(want, sizeof(want), "a_caller at test_sites.c:%d", LINE_OF_CALL);
    ck_assert_str_eq(text, want);
}
END_TEST

/* ---- names of functions -------------------------------------------------------------------- */

static void named(const char *symbol, size_t size, const char *wanted)
{
    char text[128];

    tw_function_name(symbol, text, size);
    ck_assert_str_eq(text, wanted);
    ck_assert_uint_lt(strlen(text), size);
}

START_TEST(names_as_people_write_them)
{
    named("job_issue", 96, "job_issue");
    named("", 96, "");
    named("solver::Grid<double>::smooth(double const*, int) const", 96,
          "solver::Grid<double>::smooth");
    named("void sum<float>(float*, unsigned long)", 96, "sum<float>");
    named("(anonymous namespace)::reduce(std::vector<int, std::allocator<int> >&)", 96,
          "(anonymous namespace)::reduce");
    named("std::ostream& ns::operator<< <char>(std::ostream&, char)", 96, "ns::operator<< <char>");
    named("ns::Call::operator()(int)", 96, "ns::Call::operator()");
    named("ns::Map<std::string, std::vector<double, Allocator<double>>>::exchange(int)", 96,
          "ns::Map<>::exchange");
    named("one::very_long_namespace::and_another_one::Class::method(int)", 24,
          "..er_one::Class::method");
    named("a_name_of_c_that_is_rather_long_too", 16, "..ther_long_too");
    named("main::{lambda(int)#1}::operator()(int) const", 96, "main::{lambda(int)#1}::operator()");
}
END_TEST

START_TEST(mangled_names)
{
    void *library;

    if (dlsym(RTLD_DEFAULT, "__cxa_demangle") == NULL) { /* a sanitizer brings it */
        named("_ZN6solver4GridIdE6smoothEPKdi", 96, "_ZN6solver4GridIdE6smoothEPKdi");
    }
    library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL); /* as that of a program's library */
    if (library != NULL) {
        named("_ZN6solver4GridIdE6smoothEPKdi", 96, "solver::Grid<double>::smooth");
        named("_Znonsense", 96, "_Znonsense");
        dlclose(library);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sites");
    TCase *tcase = test_case(suite, "names");
    int    status;

    snprintf(old_path, sizeof(old_path), "%s",
             getenv("PATH") != NULL ? getenv("PATH") : "/bin:/usr/bin");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return EXIT_FAILURE;
    }
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, NULL, no_fake);
    tcase_add_test(tcase, a_call_of_this_program);
    tcase_add_test(tcase, names_as_people_write_them);
    tcase_add_test(tcase, mangled_names);
    tcase_add_test(tcase, without_addr2line);
    tcase_add_test(tcase, objects_of_others_and_no_objects);
    tcase_add_test(tcase, one_run_for_many_sites);
    tcase_add_test(tcase, answers_keep_their_order);
    tcase_add_test(tcase, names_of_functions_lose_their_arguments);
    tcase_add_test(tcase, functions_without_lines);
    tcase_add_test(tcase, the_preload_is_not_passed_on);
    tcase_add_test(tcase, one_that_hangs);
    tcase_add_test(tcase, odd_programs);
    status = test_main(suite);
    no_fake();
    rmdir(folder);
    return status;
}
