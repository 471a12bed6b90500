/* SPDX-License-Identifier: BSD-3-Clause
 * command/machine.c - see machine.h.
 */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "command/machine.h"

/* "model name : X" of /proc/cpuinfo gives X. */
void tw_machine_cpu(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char  line[256];

    snprintf(name, size, "unknown");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "model name : %255[^\n]", line) == 1) {
            snprintf(name, size, "%s", line);
            break;
        }
    }
    fclose(file);
}

json_t *tw_machine_json(void)
{
    struct utsname system = {0};
    char           cpu[256];
    cpu_set_t      binding;
    int            cores = 1;

    uname(&system);
    tw_machine_cpu(cpu, sizeof(cpu));
    if (sched_getaffinity(0, sizeof(binding), &binding) == 0) {
        cores = CPU_COUNT(&binding);
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:I}", "host", system.nodename, "system",
                     system.sysname, "architecture", system.machine, "cpu", cpu, "cores", cores,
                     "memory_bytes",
                     (json_int_t)sysconf(_SC_PHYS_PAGES) * (json_int_t)sysconf(_SC_PAGESIZE));
}

json_t *tw_machine_command(const char *program, int argc, char **argv)
{
    json_t *line = json_string(program);

    for (int i = 1; i < argc && line != NULL; i++) {
        json_t *longer = json_sprintf("%s %s", json_string_value(line), argv[i]);

        if (longer == NULL) {
            break;
        }
        json_decref(line);
        line = longer;
    }
    return line;
}
