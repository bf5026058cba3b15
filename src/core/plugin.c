/* plugin.c - where a plug-in of the library is. */
#include "core/plugin.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ck_plugin_find(const char *variable, const char *file, char *path, size_t room)
{
    Dl_info here;
    const char *named = getenv(variable), *slash = NULL;
    if (named && *named) {
        snprintf(path, room, "%s", named);
        return;
    }
    if (dladdr((void *)(uintptr_t)ck_plugin_find, &here) && here.dli_fname)
        slash = strrchr(here.dli_fname, '/');
    if (slash)
        snprintf(path, room, "%.*s/%s", (int)(slash - here.dli_fname), here.dli_fname, file);
    if (!slash || access(path, F_OK) != 0)
        snprintf(path, room, "%s", file);
}
